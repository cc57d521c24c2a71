//! Data sets: examples by index.

use super::{Batch, BatchData};
use crate::error::{self, Result, attempt, refuse};
use crate::tensor::Tensor;
use std::sync::Arc;

/// Examples that are read by their index, counted from 0.
///
/// A loader requests a whole batch at once, on a thread of its own, so `get` may read files. Random
/// values follow the seed, because the loader sets a seed for each batch.
///
/// ```
/// use taper::prelude::*;
///
/// /// The numbers from 0 to 9, and their squares.
/// struct Squares;
///
/// impl Dataset for Squares {
///     fn len(&self) -> usize {
///         10
///     }
///
///     fn get(&self, indices: &[usize]) -> Result<Batch> {
///         let numbers: Vec<f32> = indices.iter().map(|&i| i as f32).collect();
///         let x = tensor(numbers).unsqueeze(1); // (batch, 1)
///         Ok(Batch { y: x.sqr(), x })
///     }
/// }
///
/// let batch = Squares.get(&[3, 2])?;
/// assert_eq!(batch.y.to_vec2::<f32>(), [[9.0], [4.0]]);
/// # Ok::<(), Error>(())
/// ```
///
/// Examples that do not consist of two tensors need their own type of batches,
/// `impl Dataset<Sentences> for …`; see [`BatchData`].
pub trait Dataset<B: BatchData = Batch>: Send + Sync {
    /// Returns the number of examples.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = TensorDataset::new(zeros((5, 2)), zeros(5))?;
    /// assert_eq!(data.len(), 5);
    /// # Ok::<(), Error>(())
    /// ```
    fn len(&self) -> usize;

    /// Returns the examples at these indices, in this order.
    ///
    /// # Errors
    /// If an index is out of range, or an example cannot be read.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = TensorDataset::new(eye(3), arange(0, 3))?;
    /// let batch = data.get(&[2, 0])?;
    /// assert_eq!(batch.y.to_vec1::<i64>(), [2, 0]);
    /// # Ok::<(), Error>(())
    /// ```
    fn get(&self, indices: &[usize]) -> Result<B>;

    /// Returns all examples as one batch.
    ///
    /// # Errors
    /// If an example cannot be read, or there is not enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = TensorDataset::new(eye(3), arange(0, 3))?;
    /// assert_eq!(data.all()?.x.dims(), [3, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    fn all(&self) -> Result<B> {
        self.get(&Vec::from_iter(0..self.len()))
    }

    /// Returns whether there are no examples.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let data = TensorDataset::new(zeros((0, 2)), zeros(0))?;
    /// assert!(data.is_empty());
    /// # Ok::<(), Error>(())
    /// ```
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

macro_rules! pointers {
    ($($pointer:ident)*) => {$(
        impl<B: BatchData, D: Dataset<B> + ?Sized> Dataset<B> for $pointer<D> {
            fn len(&self) -> usize {
                (**self).len()
            }

            fn get(&self, indices: &[usize]) -> Result<B> {
                (**self).get(indices)
            }
        }
    )*};
}

pointers!(Arc Box);

/// Examples in two tensors: inputs and targets, one row of each per example.
///
/// Batches are on the device on which the tensors are.
///
/// ```
/// use taper::prelude::*;
///
/// let x = rand((100, 2));
/// let y = x.sum_keepdim(1); // (100, 1)
/// let data = TensorDataset::new(x, y)?;
/// assert_eq!(data.get(&[5, 7, 99])?.x.dims(), [3, 2]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TensorDataset {
    x: Tensor,
    y: Tensor,
}

impl TensorDataset {
    /// Creates a data set of inputs `x`, `(n, …)`, and targets `y`, `(n, …)`.
    ///
    /// # Errors
    /// If their first dimensions differ, or one of the tensors is a scalar.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let error = TensorDataset::new(zeros((4, 2)), zeros(5)).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "TensorDataset: expected y with the first dimension of x, whose shape is [4, 2], found shape [5]\n\
    ///      Give both the same first dimension: the number of examples"
    /// );
    /// ```
    pub fn new(x: Tensor, y: Tensor) -> Result<Self> {
        if x.dims().is_empty() || x.dims().first() != y.dims().first() {
            let (x, y) = (x.dims(), y.dims());
            refuse!(shape("TensorDataset", y);
                "y with the first dimension of x, whose shape is {x:?}",
                "Give both the same first dimension: the number of examples");
        }
        // Examples are selected from contiguous tensors; a view may not be one.
        attempt(|| Self {
            x: x.contiguous(),
            y: y.contiguous(),
        })
    }
}

impl Dataset for TensorDataset {
    fn len(&self) -> usize {
        self.x.dims()[0]
    }

    fn get(&self, indices: &[usize]) -> Result<Batch> {
        check_indices(indices, self.len())?;
        attempt(|| Batch {
            x: rows(&self.x, indices),
            y: rows(&self.y, indices),
        })
    }
}

/// Returns the rows at these indices; without a copy where they are consecutive.
fn rows(tensor: &Tensor, indices: &[usize]) -> Tensor {
    let first = indices.first().copied().unwrap_or(0);
    if indices.iter().enumerate().all(|(i, &n)| n == first + i) {
        return tensor.narrow(0, first, indices.len());
    }
    let numbers: Vec<i64> = indices.iter().map(|&index| index as i64).collect();
    let numbers = Tensor::from_vec_on(numbers, indices.len(), tensor.device());
    tensor.index_select(&numbers, 0)
}

/// Refuses indices that are out of range.
pub(super) fn check_indices(indices: &[usize], len: usize) -> Result<()> {
    let Some(index) = indices.iter().find(|&&index| index >= len) else {
        return Ok(());
    };
    let empty = "Add examples: the data set is empty";
    Err(error::outside("get", "example", *index, len, empty))
}

/// Joins transformed images to a batch. Without images, its shape is unknown.
pub(super) fn stack(images: &[Tensor]) -> Result<Tensor> {
    match images {
        [] => refuse!(argument("get", "none");
            "at least one index", "Give the index of each example of the batch"),
        _ => attempt(|| Tensor::stack(images, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{arange, zeros};

    #[test]
    fn views_have_examples_as_well() {
        let all = arange(0.0, 12.0).reshape((4, 3));
        let (x, y) = (all.narrow(1, 0, 2), all.narrow(1, 1, 2));
        let batch = TensorDataset::new(x, y).unwrap().get(&[3, 1]).unwrap();
        let rows = |t: Tensor| t.to_vec2::<f32>();
        assert_eq!(rows(batch.x), [[9.0, 10.0], [3.0, 4.0]]);
        assert_eq!(rows(batch.y), [[10.0, 11.0], [4.0, 5.0]]);
    }

    #[test]
    fn rows_are_returned_in_the_order_of_the_indices() {
        let x = arange(0.0, 12.0).reshape((6, 2));
        let data = TensorDataset::new(x, arange(0, 6)).unwrap();
        for indices in [&[5, 0, 0, 3][..], &[1, 2, 3], &[4], &[]] {
            let batch = data.get(indices).unwrap();
            let numbers: Vec<i64> = indices.iter().map(|&i| i as i64).collect();
            assert_eq!(batch.y.to_vec1::<i64>(), numbers);
            assert_eq!(batch.x.dims(), [indices.len(), 2]);
            let first: Vec<f32> = indices.iter().map(|&i| 2.0 * i as f32).collect();
            let column = batch.x.narrow(1, 0, 1).flatten_all();
            assert_eq!(column.to_vec1::<f32>(), first);
        }
    }

    #[test]
    fn an_index_out_of_range_is_an_error() {
        let data = TensorDataset::new(zeros((3, 2)), zeros(3));
        let message = data.unwrap().get(&[0, 3]).unwrap_err().to_string();
        assert!(
            message.starts_with("get: example 3 is out of range: there are 3, counted from 0\n")
        );
    }

    #[test]
    fn tensors_without_rows_are_refused() {
        let x = zeros(());
        assert!(TensorDataset::new(x.clone(), x).is_err());
    }

    #[test]
    fn an_empty_data_set_has_no_indices_to_use() {
        let data = TensorDataset::new(zeros((0, 2)), zeros(0));
        let message = data.unwrap().get(&[0]).unwrap_err().to_string();
        assert_eq!(
            message,
            "get: example 0 is out of range: there are 0, counted from 0\n\
             Add examples: the data set is empty"
        );
    }
}
