//! One-hot encoding of class indices.

use super::check;
use super::lookup::check_indices;
use crate::error::{self, OrRaise};
use crate::tensor::{Raw, Tensor};
use candle_core::{DType, Result};

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
/// let y = one_hot(&tensor(&[2, 0], &cpu()), 3); // (2, 3)
/// assert_eq!(y.to_vec2::<i64>(), [[0, 0, 1], [1, 0, 0]]);
/// ```
#[inline]
#[track_caller]
pub fn one_hot(y: &Tensor, num_classes: usize) -> Tensor {
    one_hot_raw(y.raw(), num_classes).or_raise().into()
}

fn one_hot_raw(y: &Raw, num_classes: usize) -> Result<Raw> {
    if y.dtype().is_float() {
        return Err(error::dtype(
            "one_hot",
            "class indices",
            y.dtype(),
            "Convert the input: y.to_dtype(DType::I64)",
        ));
    }
    check::positive(&"one_hot", &[("num_classes", num_classes)])?;
    check_indices(&"one_hot", "class", y, num_classes, "raise num_classes")?;
    let y = y.to_dtype(DType::I64)?;
    let shape = [y.dims(), &[num_classes]].concat();
    check::output(&"one_hot", &shape, &y)?;
    if y.elem_count() == 0 {
        return Raw::zeros(shape, DType::I64, y.device());
    }
    let classes = Raw::arange(0, num_classes as i64, y.device())?; // (num_classes,)
    let equal = y.unsqueeze(y.rank())?.broadcast_eq(&classes)?;
    equal.to_dtype(DType::I64)
}
