//! Pooling of volumes.

use super::{Slices, Triple, batch, taken};
use crate::error::OrRaise;
use crate::layer;
use crate::nn::check;
use crate::nn::record_output;
use crate::ops::{self, Pool2dSpec};
use crate::tensor::Tensor;

macro_rules! pooling {
    ($(#[$doc:meta])* $name:ident, $pool:path, $largest:literal) => {
        layer! {
            $(#[$doc])*
            #[derive(Clone, Copy)]
            #[describe(kernel_size = self.kernel, stride = self.stride, padding = self.padding)]
            pub struct $name(kernel: impl Into<Triple>) {
                kernel: Triple = kernel.into(),
                stride: Triple = kernel,
                padding: Triple = 0.into(),
            }
            fn forward(&self, input: &Tensor) -> Tensor {
                let x = batch(self, input);
                let spec = Pool2dSpec::new(self.kernel.image).stride(self.stride.image).padding(self.padding.image);
                let images = x.flatten(1, 2);
                let pooled: Tensor = $pool(&check::name(self), images.raw(), spec).or_raise().into();
                let (batch, _, height, width) = pooled.dims4();
                let pooled = pooled.reshape((batch, x.dim(1), x.dim(2), height, width));
                let y = self.along_depth(&pooled, $largest);
                let is_batch = input.rank() == 5;
                record_output(self, if is_batch { y } else { y.squeeze(0) })
            }
        }

        impl $name {
            setters! {
                /// Sets the stride, by which the kernel moves from one output to the next.
                pub fn stride(self, stride: impl Into<Triple>): self.stride = stride.into();

                /// Sets the padding on each side; at most half of the kernel.
                pub fn padding(self, padding: impl Into<Triple>): self.padding = padding.into();
            }
        }

        impl $name {
            #[track_caller]
            fn along_depth(&self, x: &Tensor, largest: bool) -> Tensor {
                let (depth, padding) = (x.dim(2), self.padding.depth);
                let slices = Slices { kernel: self.kernel.depth, stride: self.stride.depth, padding, dilation: 1 };
                let mut places = slices.indices(self, depth);
                if largest {
                    // A slice of the padding is never the largest, so its neighbour takes its place.
                    for index in places.iter_mut().flatten() {
                        *index = (*index - padding as i64).clamp(0, depth as i64 - 1);
                    }
                    return taken(x, &places).max(3);
                }
                taken(&x.pad_with_zeros(2, padding, padding), &places).mean(3)
            }
        }
    };
}

pooling!(
    /// Max pooling of volumes: the maximum of each block.
    ///
    /// # Shapes
    /// `(batch, channels, depth, height, width)`; the batch may be missing.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = arange(0.0, 16.0).reshape((1, 1, 4, 2, 2));
    /// let y = MaxPool3d::new(2).forward(&x); // (1, 1, 2, 1, 1)
    /// assert_eq!(y.to_vec::<f32>(), [7.0, 15.0]);
    /// ```
    MaxPool3d, ops::max_pool2d_as, true
);

pooling!(
    /// Average pooling of volumes: the mean of each block; padding counts as zeros.
    ///
    /// # Shapes
    /// `(batch, channels, depth, height, width)`; the batch may be missing.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = arange(0.0, 16.0).reshape((1, 1, 4, 2, 2));
    /// let y = AvgPool3d::new(2).forward(&x); // (1, 1, 2, 1, 1)
    /// assert_eq!(y.to_vec::<f32>(), [3.5, 11.5]);
    /// ```
    AvgPool3d, ops::avg_pool2d_as, false
);
