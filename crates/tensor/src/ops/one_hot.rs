//! One-hot encoding of class indices.

use super::check;
use super::engine::autograd::IndexedCopy;
use super::lookup::{check_indices, positions};
use crate::error::refuse;
use crate::tensor::{Raw, Tensor};
use candle_core::{DType, Result};

functions! {
    /// Returns class indices as rows with a 1 at the index and zeros elsewhere, in `i64`.
    ///
    /// # Shapes
    /// Integers `(…)` to `(…, num_classes)`.
    ///
    /// # Panics
    /// If the indices are not integers, or, on the CPU, out of range. On a GPU, the row of an index out of range
    /// is zero.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = one_hot(&tensor(&[2, 0]), 3); // (2, 3)
    /// assert_eq!(y.to_vec2::<i64>(), [[0, 0, 1], [1, 0, 0]]);
    /// ```
    pub fn one_hot(y: &Tensor, num_classes: usize) => one_hot_raw(y.raw(), num_classes);
}

fn one_hot_raw(y: &Raw, num_classes: usize) -> Result<Raw> {
    refuse!(if y.dtype().is_float(); dtype("one_hot", y.dtype());
        "class indices", "Convert the input: y.to_dtype(DType::I64)");
    check::positive(&"one_hot", &[("num_classes", num_classes)])?;
    check_indices(&"one_hot", "class", y, num_classes, "raise num_classes")?;
    let y = y.to_dtype(DType::I64)?;
    let shape = [y.dims(), &[num_classes]].concat();
    check::output(&"one_hot", &shape, &y)?;
    if y.elem_count() == 0 {
        return Raw::zeros(shape, DType::I64, y.device());
    }
    if y.device().is_cpu() {
        let ones = Raw::ones((y.elem_count(), 1), DType::I64, y.device())?;
        let indices = positions(&y)?.reshape(ones.shape())?;
        let rows = [y.elem_count(), num_classes];
        return IndexedCopy::of_elements(indices, &rows, 1)
            .add(&ones)?
            .reshape(shape);
    }
    let classes = Raw::arange(0, num_classes as i64, y.device())?; // (num_classes,)
    let equal = y.unsqueeze(y.rank())?.values().broadcast_eq(&classes)?;
    equal.to_dtype(DType::I64).map(Raw::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::{arange, tensor, zeros};

    #[test]
    fn rows_keep_the_shape_of_the_indices() {
        let y = arange(0, 6).reshape((2, 3));
        let rows = one_hot(&y.t(), 7); // (3, 2, 7)
        assert_eq!(rows.dims(), [3, 2, 7]);
        assert_eq!(rows.argmax(-1).to_vec2::<u32>(), [[0, 3], [1, 4], [2, 5]]);
        assert_eq!(rows.sum(-1).to_vec2::<i64>(), [[1, 1]; 3]);
        let none = zeros((0, 2)).to_dtype(DType::U32);
        assert_eq!(one_hot(&none, 3).dims(), [0, 2, 3]);
        for wrong in [-1, 3] {
            let error = attempt(|| one_hot(&tensor(&[0, wrong]), 3)).unwrap_err();
            assert!(error.to_string().contains("out of range"), "{error}");
        }
    }
}
