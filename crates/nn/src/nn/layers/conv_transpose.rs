//! The transposed convolutions of sequences and images.

use crate::nn::layers::convolution::{
    Convolution, convolution, output_padding, row_extent, row_margin,
};
use crate::nn::{Layer, Parameters};
use crate::ops::Pair;
use crate::tensor::Tensor;

convolution!(
    /// A transposed convolution of images: each input element is spread over a patch of the output, so that a
    /// stride above 1 makes the image larger.
    ///
    /// `weight` has the shape `(in_channels, out_channels / groups, kernel, kernel)`, `bias` the shape
    /// `(out_channels,)`. As in PyTorch, both are initialised uniformly between `-1/√n` and `1/√n` for
    /// `n = out_channels / groups · kernel²`. A size is one value, `3`, or a pair of height and width, `(3, 5)`.
    ///
    /// # Shapes
    /// `(batch, in_channels, height, width)` to `(batch, out_channels, height', width')`, where
    /// `height' = (height - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1`.
    ///
    /// From d2l's chapter *Transposed Convolution*.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = ConvTranspose2d::new(16, 8, 2).stride(2);
    /// let y = layer.forward(&zeros((4, 16, 7, 7))); // (4, 8, 14, 14)
    /// assert_eq!(y.dims(), [4, 8, 14, 14]);
    /// ```
    ConvTranspose2d,
    /// Creates a [`ConvTranspose2d`] that takes its number of input channels from the first input.
    ///
    /// # Shapes
    /// As for [`ConvTranspose2d`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer: ConvTranspose2d = LazyConvTranspose2d::new(8, 2).stride(2);
    /// let y = layer.forward(&zeros((4, 16, 7, 7))); // (4, 8, 14, 14)
    /// assert_eq!(layer.describe(), "ConvTranspose2d(16, 8, kernel_size=2, stride=2)");
    /// ```
    LazyConvTranspose2d,
    (impl Into<Pair>), Into::into, Into::into,
    "9", "(1, 1, 9, 9)", "[1, 1, 19, 19]", "[1, 1, 9, 9]", "[1, 1, 13, 13]"
);
#[rustfmt::skip]
output_padding!(ConvTranspose2d, (impl Into<Pair>), Into::into, "(1, 1, 4, 4)", "[1, 1, 8, 8]");

convolution!(
    /// A transposed convolution of sequences: each step is spread over a few steps of the output, so that a
    /// stride above 1 makes the sequence longer.
    ///
    /// `weight` has the shape `(in_channels, out_channels / groups, kernel)`, `bias` the shape
    /// `(out_channels,)`, both initialised as those of [`ConvTranspose2d`].
    ///
    /// # Shapes
    /// `(batch, in_channels, length)` to `(batch, out_channels, length')`, where
    /// `length' = (length - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = ConvTranspose1d::new(16, 8, 2).stride(2);
    /// let y = layer.forward(&zeros((4, 16, 7))); // (4, 8, 14)
    /// assert_eq!(y.dims(), [4, 8, 14]);
    /// ```
    ConvTranspose1d,
    /// Creates a [`ConvTranspose1d`] that takes its number of input channels from the first input.
    ///
    /// # Shapes
    /// As for [`ConvTranspose1d`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer: ConvTranspose1d = LazyConvTranspose1d::new(8, 2).stride(2);
    /// let y = layer.forward(&zeros((4, 16, 7))); // (4, 8, 14)
    /// assert_eq!(layer.describe(), "ConvTranspose1d(16, 8, kernel_size=2, stride=2)");
    /// ```
    LazyConvTranspose1d,
    (usize), row_extent, row_margin,
    "3", "(1, 1, 9)", "[1, 1, 19]", "[1, 1, 9]", "[1, 1, 13]"
);
#[rustfmt::skip]
output_padding!(ConvTranspose1d, (usize), row_margin, "(1, 1, 4)", "[1, 1, 8]");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::tests::message_of;
    use crate::tensor::zeros;

    #[test]
    fn a_wrong_input_is_explained() {
        let layer = || ConvTranspose2d::new(3, 2, 2);
        let message =
            |layer: ConvTranspose2d, shape: &[usize]| message_of(|| layer.forward(&zeros(shape)));
        assert_eq!(
            message(layer(), &[8, 8]),
            "ConvTranspose2d(3, 2, kernel_size=2, stride=1) cannot take an input of shape [8, 8]\n\
             Expected images (batch, channels, height, width); add a dimension with unsqueeze(…)"
        );
        assert!(message(layer(), &[1, 1, 8, 8]).ends_with("the channels, must be 3"));
        assert!(message(layer().padding(1), &[1, 3, 1, 1]).contains("would be empty"));
        assert!(message(layer().output_padding(1), &[1, 3, 1, 1]).contains("output_padding is 1"));
        assert!(message(layer().stride(0), &[1, 3, 1, 1]).contains("stride is 0"));
        let sequence = ConvTranspose1d::new(3, 2, 2);
        assert_eq!(
            message_of(|| sequence.forward(&zeros((1, 4, 8)))),
            "ConvTranspose1d(3, 2, kernel_size=2, stride=1) cannot take an input of shape [1, 4, 8]\n\
             Its second dimension, the channels, must be 3"
        );
        let wrong: [fn() -> ConvTranspose2d; 3] = [
            || ConvTranspose2d::new(0, 1, 1),
            || ConvTranspose2d::new(3, 2, 2).groups(2),
            || ConvTranspose2d::new(3, 2, 2).groups(0),
        ];
        for wrong in wrong {
            assert_eq!(message_of(wrong).lines().count(), 2);
        }
    }
}
