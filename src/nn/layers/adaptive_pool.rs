//! Average pooling to a given size.

use crate::nn::layer::boxed_here;
use crate::nn::summary::output_of;
use crate::nn::{Layer, Parameters, check};
use crate::ops::{self, OutputSize};
use crate::tensor::Tensor;

/// Averages over patches that cover the image, so that the output has the given size whatever the
/// size of the input. Neighbouring patches overlap where the sizes do not divide evenly.
///
/// # Shapes
/// `(batch, channels, height, width)` to `(batch, channels, size, size)`; a pair as size sets the height and
/// the width, where `None` keeps the size of the input.
///
/// From d2l's chapter *Network in Network (NiN)*, where it returns one value for each channel.
///
/// ```
/// use taper::prelude::*;
///
/// let x = arange(0.0, 16.0).reshape((1, 1, 4, 4));
/// let y = AdaptiveAvgPool2d::new(1).forward(&x); // (1, 1, 1, 1)
/// assert_eq!(y.flatten_all().to_vec1::<f32>(), [7.5]);
/// ```
#[derive(Clone, Copy, Parameters)]
#[describe(output_size = self.size)]
pub struct AdaptiveAvgPool2d {
    size: OutputSize,
}

impl AdaptiveAvgPool2d {
    /// Creates a layer whose output has this height and width: `3`, or `(2, 3)`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = AdaptiveAvgPool2d::new(3).forward(&zeros((1, 2, 7, 5)));
    /// assert_eq!(y.dims(), [1, 2, 3, 3]);
    /// ```
    pub fn new(size: impl Into<OutputSize>) -> Self {
        let size = size.into();
        Self { size }
    }
}

impl Layer for AdaptiveAvgPool2d {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        let name = check::name(self);
        let y = ops::adaptive_avg_pool2d_as(&name, input.raw(), self.size);
        output_of(self, y)
    }
}
