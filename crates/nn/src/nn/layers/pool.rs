//! Pooling over patches.

use crate::nn::summary::output_of;
use crate::nn::{Parameters, check};
use crate::ops::{self, Pair, Pool2dSpec};
use crate::tensor::{Raw, Tensor};
use candle_core::Result;
use std::fmt::Display;

/// Pools images: the caller's name, the images and the settings.
pub(super) type Pool = fn(&dyn Display, &Raw, Pool2dSpec) -> Result<Raw>;

fn of_images(layer: &dyn Parameters, x: &Tensor, spec: Pool2dSpec, pool: Pool) -> Tensor {
    output_of(layer, pool(&check::name(layer), x.raw(), spec))
}

/// Implements a pooling layer: the type of its sizes, which `$extent` and `$margin` convert into those of images,
/// `$shown` as the description has them, and what it computes.
macro_rules! pooling {
    (
        $(#[$doc:meta])* $name:ident($size:ty, $extent:expr, $margin:expr, $shown:expr), $forward:path, $pool:path
    ) => {
        $crate::layer! {
            $(#[$doc])*
            #[derive(Clone, Copy)]
            #[describe(
                kernel_size = $shown(self.spec.kernel),
                stride = $shown(self.spec.stride),
                padding = $shown(self.spec.padding)
            )]
            pub struct $name(kernel: $size) {
                #[parameters(skip)]
                spec: Pool2dSpec = Pool2dSpec::new($extent(kernel)),
            }
            fn forward(&self, input: &Tensor) -> Tensor {
                $forward(self, input, self.spec, $pool)
            }
        }

        impl $name {
            setters! {
                /// Sets the stride, by which the kernel moves from one output to the next.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(3).stride(1);")]
                /// assert!(layer.describe().contains("stride=1"));
                /// ```
                pub fn stride(self, stride: $size): self.spec = self.spec.stride($extent(stride));

                /// Sets the padding on each side; at most half of the kernel.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(3).stride(1).padding(1);")]
                /// assert!(layer.describe().contains("padding=1"));
                /// ```
                pub fn padding(self, padding: $size): self.spec = self.spec.padding($margin(padding));

                /// Sets whether the size of the output is rounded up, so that a patch may reach over the end of the
                /// input; `false` by default.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let layer = ", stringify!($name), "::new(2).ceil_mode(true);")]
                /// ```
                pub fn ceil_mode(self, ceil_mode: bool): self.spec = self.spec.ceil_mode(ceil_mode);
            }
        }
    };
}
pub(super) use pooling;

pooling!(
    /// Max pooling: the maximum of each patch. Among equal elements, the first gets the gradient.
    ///
    /// From d2l's chapter *Pooling*.
    ///
    /// # Shapes
    /// Those of [`max_pool2d`](ops::max_pool2d).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = arange(0.0, 16.0).reshape((1, 1, 4, 4));
    /// let y = MaxPool2d::new(2).forward(&x); // (1, 1, 2, 2)
    /// assert_eq!(y.flatten_all().to_vec1::<f32>(), [5.0, 7.0, 13.0, 15.0]);
    /// ```
    MaxPool2d(impl Into<Pair>, Into::<Pair>::into, Into::<Pair>::into, Pair::from), of_images, ops::max_pool2d_as
);

pooling!(
    /// Average pooling: the mean of each patch; padding counts as zeros.
    ///
    /// From d2l's chapter *Pooling*. Shapes are those of [`MaxPool2d`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = arange(0.0, 16.0).reshape((1, 1, 4, 4));
    /// let y = AvgPool2d::new(2).forward(&x); // (1, 1, 2, 2)
    /// assert_eq!(y.flatten_all().to_vec1::<f32>(), [2.5, 4.5, 10.5, 12.5]);
    /// ```
    AvgPool2d(impl Into<Pair>, Into::<Pair>::into, Into::<Pair>::into, Pair::from), of_images, ops::avg_pool2d_as
);

impl MaxPool2d {
    setters! {
        /// Sets the distance between the elements of a patch; 1 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let layer = MaxPool2d::new(2).stride(1).dilation(2);
        /// assert_eq!(layer.forward(&zeros((1, 1, 5, 5))).dims(), [1, 1, 3, 3]);
        /// ```
        pub fn dilation(self, dilation: impl Into<Pair>): self.spec = self.spec.dilation(dilation);
    }
}

impl AvgPool2d {
    setters! {
        /// Sets whether the padding counts as zeros in a mean, as by default, or not at all.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let layer = AvgPool2d::new(2).padding(1).count_include_pad(false);
        /// assert_eq!(layer.forward(&ones((1, 2, 2))).to_vec::<f32>(), [1.0; 4]);
        /// ```
        pub fn count_include_pad(self, count_include_pad: bool):
            self.spec = self.spec.count_include_pad(count_include_pad);

        /// Sets the number by which the sum of a patch is divided, in place of the number of its elements.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let layer = AvgPool2d::new(2).divisor_override(1);
        /// assert_eq!(layer.forward(&ones((1, 2, 2))).to_vec::<f32>(), [4.0]);
        /// ```
        pub fn divisor_override(self, divisor: usize): self.spec = self.spec.divisor_override(divisor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::Layer;
    use crate::nn::tests::message_of;
    use crate::tensor::zeros;

    #[test]
    fn wrong_inputs_are_explained() {
        let x = |shape: &[usize]| zeros(shape);
        let layers: [&dyn Layer; 3] = [
            &MaxPool2d::new(3),
            &AvgPool2d::new(3),
            &crate::nn::AdaptiveAvgPool2d::new(1),
        ];
        for layer in layers {
            let message = message_of(|| layer.forward(&x(&[4, 4])));
            assert!(
                message.contains("(batch, channels, height, width)"),
                "{message}"
            );
            assert_eq!(message.lines().count(), 2);
        }
        let message = message_of(|| MaxPool2d::new(3).forward(&x(&[1, 1, 2, 9])));
        assert!(message.contains("at least 3"), "{message}");
        assert!(attempt(|| MaxPool2d::new(0).forward(&x(&[1, 1, 2, 2]))).is_err());
        let layer = MaxPool2d::new(4).padding(1);
        let message = message_of(|| layer.forward(&x(&[1, 1, 1, 8])));
        assert!(message.ends_with("must be at least 2"), "{message}");
        assert_eq!(layer.forward(&x(&[1, 1, 2, 2])).dims(), [1, 1, 1, 1]);
        assert_eq!(
            message_of(|| AvgPool2d::new(2).padding(2).forward(&x(&[1, 1, 8, 8]))),
            "AvgPool2d(kernel_size=2, stride=2, padding=2): the padding is more than half of the kernel\n\
             Use a padding of at most 1"
        );
    }
}
