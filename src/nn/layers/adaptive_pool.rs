//! Pooling to a size that is asked for.

use crate::nn::summary::seen;
use crate::nn::{Copier, Layer, Parameters, Replicate, check, print_as_described};
use crate::ops;
use candle_core::{Result, Tensor};

/// Means over as many windows as are asked for, whatever the size of the picture; the windows share
/// an edge where they do not come out even.
///
/// # Shapes
/// `(batch, channels, height, width)` to `(batch, channels, size, size)`.
///
/// From d2l's chapter *Network in Network (NiN)*, where it gives one number for each channel.
///
/// ```
/// use taper::prelude::*;
///
/// let x = arange(0.0, 16.0, &cpu())?.reshape((1, 1, 4, 4))?;
/// let y = AdaptiveAvgPool2d::new(1).forward(&x)?; // (1, 1, 1, 1)
/// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [7.5]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct AdaptiveAvgPool2d {
    size: usize,
}

impl AdaptiveAvgPool2d {
    /// A layer whose output has this height and width.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = AdaptiveAvgPool2d::new(3).forward(&zeros((1, 2, 7, 5), &cpu())?)?;
    /// assert_eq!(y.dims(), [1, 2, 3, 3]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(size: usize) -> Self {
        Self { size }
    }
}

impl Layer for AdaptiveAvgPool2d {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let name = check::name(self);
        seen(self, ops::adaptive_avg_pool2d(&name, input, self.size)?)
    }
}

impl Parameters for AdaptiveAvgPool2d {
    fn describe(&self) -> String {
        format!("AdaptiveAvgPool2d(output_size={})", self.size)
    }
}

impl Replicate for AdaptiveAvgPool2d {
    fn replicate_with(&self, _: &mut Copier) -> Result<Self> {
        Ok(*self)
    }
}

print_as_described!(AdaptiveAvgPool2d);
