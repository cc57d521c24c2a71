//! Group normalisation.

use crate::error::raise;
use crate::layer;
use crate::nn::check;
use crate::nn::layers::scale::Scale;
use crate::tensor::Tensor;

layer! {
    /// Group normalisation: the channels of each example are split into groups, and each group gets mean 0
    /// and variance 1, then each channel a learned scale and shift. It does not depend on the batch.
    ///
    /// From Wu and He, 2018.
    ///
    /// # Shapes
    /// `(batch, channels, …)`; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let norm = GroupNorm::new(1, 2);
    /// let y = norm.forward(&tensor(&[[1.0, 3.0]])); // (1, 2)
    /// assert!((y.to_vec2::<f32>()[0][1] - 1.0).abs() < 1e-4);
    /// ```
    ///
    /// # Panics
    /// [`new`](Self::new) panics if one of its arguments is 0, or `num_groups` does not divide `num_channels`.
    #[describe(
        self.num_groups,
        self.num_channels,
        eps = self.eps,
        affine = self.scale.weight.is_none().then_some(false),
        bias = self.scale.no_bias()
    )]
    pub struct GroupNorm(num_groups: usize, num_channels: usize) {
        let sizes = [("num_groups", num_groups), ("num_channels", num_channels)];
        check::positive("GroupNorm", &sizes);
        raise!(if !num_channels.is_multiple_of(num_groups);
            "GroupNorm: {num_groups} groups cannot share {num_channels} channels";
            "Choose a number of groups that divides the channels");
        #[parameters(flatten)]
        scale = Scale::new(num_channels, true, true),
        num_groups: usize,
        num_channels: usize,
        /// Sets the value that is added to the variance; 1e-5 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(GroupNorm::new(1, 2).eps(0.001).describe(), "GroupNorm(1, 2, eps=0.001)");
        /// ```
        set eps: f64 = 1e-5,
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        self.scale.of_groups(self, input, self.num_groups, self.eps)
    }
}

impl GroupNorm {
    setters! {
        /// Sets whether the channels have a learned scale and shift, as by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(GroupNorm::new(4, 8).affine(false).num_parameters(), 0);
        /// ```
        pub fn affine(self, affine: bool): self.scale.set(affine, affine);

        /// Sets whether the channels have a learned shift, as by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(GroupNorm::new(4, 8).bias(false).num_parameters(), 8);
        /// ```
        pub fn bias(self, bias: bool): self.scale.set_bias(bias);
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
        let norm = GroupNorm::new(2, 4);
        let x = |shape: &[usize]| zeros(shape);
        assert_eq!(
            message_of(|| norm.forward(&x(&[2, 3]))),
            "GroupNorm(2, 4, eps=1e-5) cannot take an input of shape [2, 3]\n\
             Its second dimension, the channels, must be 4"
        );
        assert!(attempt(|| norm.forward(&x(&[4]))).is_err());
        assert!(attempt(|| GroupNorm::new(0, 4)).is_err());
        assert_eq!(norm.forward(&x(&[0, 4, 2])).dims(), [0, 4, 2]);
    }
}
