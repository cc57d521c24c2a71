//! The convolutions of sequences and images.

use crate::nn::layers::convolution::{
    Convolution, convolution, padding_mode, row_extent, row_margin,
};
use crate::nn::{Layer, Parameters};
use crate::ops::{PaddingMode, Pair};
use crate::tensor::Tensor;

convolution!(
    /// A convolution of images: each output is the weighted sum of a patch of the input.
    ///
    /// `weight` has the shape `(out_channels, in_channels / groups, kernel, kernel)`, `bias` the shape
    /// `(out_channels,)`. As in PyTorch, both are initialised uniformly between `-1/√n` and `1/√n`,
    /// where `n = in_channels / groups · kernel²`. A size is one value, `3`, or a pair of height and width,
    /// `(3, 5)`.
    ///
    /// # Shapes
    /// `(batch, in_channels, height, width)` to `(batch, out_channels, height', width')`, where
    /// `height' = (height + 2 padding - dilation (kernel - 1) - 1) / stride + 1`, rounded down.
    ///
    /// From d2l's chapter *Convolutional Neural Networks*.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = Conv2d::new(1, 6, 5).padding(2);
    /// let y = layer.forward(&zeros((8, 1, 28, 28))); // (8, 6, 28, 28)
    /// assert_eq!(y.dims(), [8, 6, 28, 28]);
    /// ```
    Conv2d,
    /// Creates a [`Conv2d`] that takes its number of input channels from the first input.
    ///
    /// # Shapes
    /// As for [`Conv2d`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer: Conv2d = LazyConv2d::new(6, 5).padding(2);
    /// let y = layer.forward(&zeros((8, 1, 28, 28))); // (8, 6, 28, 28)
    /// assert_eq!(layer.describe(), "Conv2d(1, 6, kernel_size=5, stride=1, padding=2)");
    /// ```
    LazyConv2d,
    (impl Into<Pair>), Into::into, Into::into,
    "9", "(1, 1, 9, 9)", "[1, 1, 4, 4]", "[1, 1, 9, 9]", "[1, 1, 5, 5]"
);
padding_mode!(Conv2d, "(1, 1, 9, 9)", "[1, 1, 9, 9]");

convolution!(
    /// A convolution of sequences: each output is the weighted sum of a few neighbouring steps.
    ///
    /// `weight` has the shape `(out_channels, in_channels / groups, kernel)`, `bias` the shape
    /// `(out_channels,)`, both initialised as those of [`Conv2d`].
    ///
    /// # Shapes
    /// `(batch, in_channels, length)` to `(batch, out_channels, length')`, where
    /// `length' = (length + 2 padding - dilation (kernel - 1) - 1) / stride + 1`, rounded down.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = Conv1d::new(3, 8, 5).padding(2);
    /// let y = layer.forward(&zeros((4, 3, 100))); // (4, 8, 100)
    /// assert_eq!(y.dims(), [4, 8, 100]);
    /// ```
    Conv1d,
    /// Creates a [`Conv1d`] that takes its number of input channels from the first input.
    ///
    /// # Shapes
    /// As for [`Conv1d`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer: Conv1d = LazyConv1d::new(8, 5).padding(2);
    /// let y = layer.forward(&zeros((4, 3, 100))); // (4, 8, 100)
    /// assert_eq!(layer.describe(), "Conv1d(3, 8, kernel_size=5, stride=1, padding=2)");
    /// ```
    LazyConv1d,
    (usize), row_extent, row_margin,
    "3", "(1, 1, 9)", "[1, 1, 4]", "[1, 1, 9]", "[1, 1, 5]"
);
padding_mode!(Conv1d, "(1, 1, 9)", "[1, 1, 9]");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::ParametersExt;
    use crate::nn::tests::message_of;
    use crate::tensor::{ones, tensor, zeros};

    #[test]
    fn padding_same_keeps_the_size() {
        let layer = || Conv1d::new(1, 1, 2).bias(false).padding_same();
        let x = tensor(&[[[1.0, 2.0, 3.0]]]);
        let y = |layer: Conv1d| {
            layer.parameter("weight").set(&ones((1, 1, 2)));
            layer.forward(&x).to_vec::<f32>()
        };
        assert_eq!(y(layer()), [3.0, 5.0, 3.0]);
        assert_eq!(
            y(layer().padding_mode(PaddingMode::Circular)),
            [3.0, 5.0, 4.0]
        );
        assert_eq!(y(layer().padding(0)), [3.0, 5.0]);
        assert_eq!(
            layer().describe(),
            "Conv1d(1, 1, kernel_size=2, stride=1, padding=\"same\", bias=false)"
        );
        let error = message_of(|| layer().stride(2).forward(&x));
        assert!(error.contains("a stride of 1"), "{error}");
        let layer = Conv2d::new(1, 1, (4, 3)).dilation((1, 2)).padding_same();
        assert_eq!(layer.forward(&zeros((1, 1, 5, 1))).dims(), [1, 1, 5, 1]);
    }

    #[test]
    fn a_wrong_image_is_explained() {
        let layer = Conv2d::new(3, 2, 5);
        let message = |shape: &[usize]| message_of(|| layer.forward(&zeros(shape)));
        assert_eq!(
            message(&[8, 8]),
            "Conv2d(3, 2, kernel_size=5, stride=1) cannot take an input of shape [8, 8]\n\
             Expected images (batch, channels, height, width); add a dimension with unsqueeze(…)"
        );
        assert!(message(&[1, 1, 8, 8]).ends_with("the channels, must be 3"));
        assert!(message(&[1, 3, 4, 8]).contains("must be at least 5"));
        let wrong: [fn() -> Conv2d; 3] = [
            || Conv2d::new(0, 1, 1),
            || Conv2d::new(1, 1, 0),
            || Conv2d::new(3, 2, 5).groups(2),
        ];
        for wrong in wrong {
            assert_eq!(message_of(wrong).lines().count(), 2);
        }
    }

    #[test]
    fn a_wrong_sequence_is_explained() {
        let layer = Conv1d::new(3, 2, 5);
        let message = |shape: &[usize]| message_of(|| layer.forward(&zeros(shape)));
        assert_eq!(
            message(&[8]),
            "Conv1d(3, 2, kernel_size=5, stride=1) cannot take an input of shape [8]\n\
             Expected sequences (batch, channels, length); add a dimension with unsqueeze(…)"
        );
        assert!(message(&[1, 1, 8]).ends_with("the channels, must be 3"));
        assert!(message(&[1, 3, 4]).contains("must be at least 5"));
        let wide = Conv1d::new(3, 2, 5).padding(3);
        let wide = wide.padding_mode(PaddingMode::Reflect);
        let error = message_of(|| wide.forward(&zeros((1, 3, 3))));
        assert!(error.contains("a padding of 3"), "{error}");
        let wrong: [fn() -> Conv1d; 3] = [
            || Conv1d::new(0, 1, 1),
            || Conv1d::new(1, 1, 0),
            || Conv1d::new(3, 2, 5).groups(2),
        ];
        for wrong in wrong {
            assert_eq!(message_of(wrong).lines().count(), 2);
        }
    }

    #[test]
    fn settings_are_described() {
        let layer = Conv2d::new(4, 4, (3, 5)).groups(2).padding((1, 2));
        let layer = layer.dilation(2).bias(false);
        assert_eq!(
            layer.padding_mode(PaddingMode::Reflect).describe(),
            "Conv2d(4, 4, kernel_size=(3, 5), stride=1, padding=(1, 2), dilation=2, groups=2, bias=false, \
             padding_mode=\"reflect\")"
        );
        assert_eq!(
            LazyConv1d::new(8, 5).stride(2).describe(),
            "LazyConv1d(8, kernel_size=5, stride=2)"
        );
    }
}
