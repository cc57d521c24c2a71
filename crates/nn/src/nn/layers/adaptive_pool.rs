//! Average pooling to a given size.

use crate::layer;
use crate::nn::check;
use crate::nn::summary::output_of;
use crate::ops::{self, OutputSize};
use crate::tensor::Tensor;

layer! {
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
    #[derive(Clone, Copy)]
    #[describe(output_size = self.size)]
    pub struct AdaptiveAvgPool2d(size: impl Into<OutputSize>) {
        size: OutputSize = size.into(),
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        let name = check::name(self);
        let y = ops::adaptive_avg_pool2d_as(&name, input.raw(), self.size);
        output_of(self, y)
    }
}
