//! Channels as pixels, and pixels as channels.

use crate::error::raise;
use crate::layer;
use crate::nn::check;
use crate::nn::summary::record_output;
use crate::tensor::Tensor;

layer! {
    /// Arranges the values of `factor²` channels as the pixels of a larger image, of which each becomes a square of `factor`
    /// by `factor` pixels. From Shi et al., 2016.
    ///
    /// # Shapes
    /// `(batch, channels · factor², height, width)` to `(batch, channels, height · factor, width · factor)`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[1.0, 2.0, 3.0, 4.0]).reshape((1, 4, 1, 1));
    /// let y = PixelShuffle::new(2).forward(&x); // (1, 1, 2, 2)
    /// assert_eq!(y.i((0, 0)).to_vec2::<f32>(), [[1.0, 2.0], [3.0, 4.0]]);
    /// ```
    ///
    /// # Panics
    /// [`new`](Self::new) panics if `factor` is 0.
    #[derive(Clone, Copy)]
    #[describe(upscale_factor = self.factor)]
    pub struct PixelShuffle(factor: usize) {
        check::positive("PixelShuffle", &[("factor", factor)]);
        factor: usize,
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        let (_, channels, _, _) = check::image(self, input);
        let r = self.factor;
        if !channels.is_multiple_of(r * r) {
            let expected = format!(
                "Its second dimension, the channels, must be a multiple of {}",
                r * r
            );
            raise(check::refused(self, input, expected))
        }
        record_output(self, input.pixel_shuffle(r))
    }
}

layer! {
    /// Arranges squares of `factor` by `factor` pixels as the values of `factor²` channels: undoes [`PixelShuffle`].
    ///
    /// # Shapes
    /// `(batch, channels, height · factor, width · factor)` to `(batch, channels · factor², height, width)`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = randn((2, 3, 4, 6));
    /// let net = seq![PixelUnshuffle::new(2), PixelShuffle::new(2)];
    /// assert_eq!(net.forward(&x).to_vec::<f32>(), x.to_vec::<f32>());
    /// ```
    ///
    /// # Panics
    /// [`new`](Self::new) panics if `factor` is 0.
    #[derive(Clone, Copy)]
    #[describe(downscale_factor = self.factor)]
    pub struct PixelUnshuffle(factor: usize) {
        check::positive("PixelUnshuffle", &[("factor", factor)]);
        factor: usize,
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        let (_, _, height, width) = check::image(self, input);
        let r = self.factor;
        if !height.is_multiple_of(r) || !width.is_multiple_of(r) {
            let expected = format!("Its height and width must be multiples of {r}");
            raise(check::refused(self, input, expected))
        }
        record_output(self, input.pixel_unshuffle(r))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Layer;
    use crate::nn::tests::message_of;
    use crate::tensor::zeros;

    #[test]
    fn wrong_inputs_are_explained() {
        assert_eq!(
            message_of(|| PixelShuffle::new(2).forward(&zeros((1, 6, 2, 2)))),
            "PixelShuffle(upscale_factor=2) cannot take an input of shape [1, 6, 2, 2]\n\
             Its second dimension, the channels, must be a multiple of 4"
        );
        let message = message_of(|| PixelUnshuffle::new(2).forward(&zeros((1, 6, 2, 3))));
        assert!(message.ends_with("must be multiples of 2"), "{message}");
        let message = message_of(|| PixelShuffle::new(1).forward(&zeros((6, 2))));
        assert!(message.contains("(batch, channels, height, width)"));
    }
}
