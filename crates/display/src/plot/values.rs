//! The data that can be drawn.

use super::number::Number;
use crate::error::{Result, attempt};
use crate::tensor::Tensor;
use candle_core::{DType, Device};
use std::ops::Range;

/// Data for a figure: a vector, an array, a slice or a range of any primitive number type, or a tensor
/// of any shape on any device, whose elements are taken in order.
///
/// ```
/// use taper::prelude::*;
/// use taper::plot::Values;
///
/// let squares = tensor(&[[1.0, 4.0], [9.0, 16.0]]);
/// assert_eq!(squares.values()?, [1.0, 4.0, 9.0, 16.0]);
/// assert_eq!((0..3).values()?, [0.0, 1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
pub trait Values {
    /// Returns the values as `f64`.
    ///
    /// # Errors
    /// Returns an error if a tensor cannot be copied from its device.
    ///
    /// ```
    /// use taper::plot::Values;
    ///
    /// assert_eq!(vec![1_u8, 2].values().ok(), Some(vec![1.0, 2.0]));
    /// ```
    fn values(&self) -> Result<Vec<f64>>;
}

impl<V: Values + ?Sized> Values for &V {
    fn values(&self) -> Result<Vec<f64>> {
        (**self).values()
    }
}

impl<N: Number> Values for [N] {
    fn values(&self) -> Result<Vec<f64>> {
        Ok(self.iter().map(|number| number.to_f64()).collect())
    }
}

impl<N: Number> Values for Vec<N> {
    fn values(&self) -> Result<Vec<f64>> {
        self.as_slice().values()
    }
}

impl<N: Number, const LEN: usize> Values for [N; LEN] {
    fn values(&self) -> Result<Vec<f64>> {
        self.as_slice().values()
    }
}

impl<N: Number> Values for Range<N>
where
    Range<N>: Iterator<Item = N>,
{
    fn values(&self) -> Result<Vec<f64>> {
        Ok((self.start..self.end).map(Number::to_f64).collect())
    }
}

impl Values for Tensor {
    fn values(&self) -> Result<Vec<f64>> {
        attempt(|| self.to_device(&Device::Cpu).to_dtype(DType::F64).to_vec())
    }
}
