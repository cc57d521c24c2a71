//! Group normalisation.

use crate::error::raise;
use crate::nn::layer::boxed_here;
use crate::nn::layers::layer_norm::value_or;
use crate::nn::summary::output_of;
use crate::nn::{Layer, Parameter, Parameters, check};
use crate::ops;
use crate::tensor::{Tensor, ones, zeros};

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
#[derive(Parameters)]
#[describe(
    self.num_groups,
    self.num_channels,
    eps = self.eps,
    affine = self.weight.is_none().then_some(false),
    bias = (self.weight.is_some() && self.bias.is_none()).then_some(false)
)]
pub struct GroupNorm {
    weight: Option<Parameter>,
    bias: Option<Parameter>,
    num_groups: usize,
    num_channels: usize,
    eps: f64,
}

impl GroupNorm {
    /// Creates a layer that splits this many channels into this many groups, on the default device.
    ///
    /// # Panics
    /// If one of them is 0, or `num_groups` does not divide `num_channels`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(GroupNorm::new(4, 8).num_parameters(), 16);
    /// assert!(attempt(|| GroupNorm::new(3, 8)).is_err());
    /// ```
    #[track_caller]
    pub fn new(num_groups: usize, num_channels: usize) -> Self {
        let sizes = [("num_groups", num_groups), ("num_channels", num_channels)];
        check::positive("GroupNorm", &sizes);
        raise!(if !num_channels.is_multiple_of(num_groups);
            "GroupNorm: {num_groups} groups cannot share {num_channels} channels";
            "Choose a number of groups that divides the channels");
        Self {
            weight: Some(Parameter::new(&ones(num_channels))),
            bias: Some(Parameter::new(&zeros(num_channels))),
            num_groups,
            num_channels,
            eps: 1e-5,
        }
    }

    setters! {
        /// Sets the value that is added to the variance; 1e-5 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(GroupNorm::new(1, 2).eps(0.001).describe(), "GroupNorm(1, 2, eps=0.001)");
        /// ```
        pub fn eps(self, eps: f64): self.eps = eps;
    }

    /// Sets whether the channels have a learned scale and shift, as by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(GroupNorm::new(4, 8).affine(false).num_parameters(), 0);
    /// ```
    pub fn affine(mut self, affine: bool) -> Self {
        if affine != self.weight.is_some() {
            self.weight = affine.then(|| Parameter::new(&ones(self.num_channels)));
        }
        self.bias(affine)
    }

    /// Sets whether the channels have a learned shift, as by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(GroupNorm::new(4, 8).bias(false).num_parameters(), 8);
    /// ```
    pub fn bias(mut self, bias: bool) -> Self {
        if bias != self.bias.is_some() {
            self.bias = bias.then(|| Parameter::new(&zeros(self.num_channels)));
        }
        self
    }
}

impl Layer for GroupNorm {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        let weight = value_or(&self.weight, 1.0, self.num_channels, input);
        let bias = value_or(&self.bias, 0.0, self.num_channels, input);
        let (x, weight, bias) = (input.raw(), weight.raw(), bias.raw());
        let name = check::name(self);
        let y = ops::group_norm_as(&name, x, self.num_groups, weight, bias, self.eps);
        output_of(self, y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::tests::message_of;

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
