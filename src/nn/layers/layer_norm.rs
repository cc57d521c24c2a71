//! Layer normalisation.

use crate::nn::layer::boxed_here;
use crate::nn::summary::output_of;
use crate::nn::{Layer, Parameter, Parameters, check};
use crate::ops;
use crate::tensor::{Tensor, ones, zeros};

/// Layer normalisation: each example gets mean 0 and variance 1 over its last dimension, then a
/// learned scale and shift for each feature. From Ba, Kiros and Hinton, 2016.
///
/// # Shapes
/// `(…, features)`; the output has the same shape.
///
/// ```
/// use taper::prelude::*;
///
/// let norm = LayerNorm::new(2);
/// let y = norm.forward(&tensor(&[[1.0, 3.0]])); // (1, 2)
/// assert!((y.to_vec2::<f32>()[0][1] - 1.0).abs() < 1e-4);
/// ```
#[derive(Parameters)]
#[describe(self.weight.size(0))]
pub struct LayerNorm {
    weight: Parameter,
    bias: Option<Parameter>,
    eps: f64,
}

impl LayerNorm {
    /// Creates a layer for this many features, on the default device.
    ///
    /// # Panics
    /// If `features` is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(LayerNorm::new(8).num_parameters(), 16);
    /// ```
    #[track_caller]
    pub fn new(features: usize) -> Self {
        check::positive("LayerNorm", &[("features", features)]);
        Self {
            weight: Parameter::new(&ones(features)),
            bias: Some(Parameter::new(&zeros(features))),
            eps: 1e-5,
        }
    }

    /// Sets the value that is added to the variance; 1e-5 by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let norm = LayerNorm::new(2).eps(0.0);
    /// assert_eq!(norm.forward(&tensor(&[1.0, 3.0])).to_vec1::<f32>(), [-1.0, 1.0]);
    /// ```
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = eps;
        self
    }

    /// Sets whether the layer has a bias, as by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(LayerNorm::new(8).bias(false).num_parameters(), 8);
    /// ```
    pub fn bias(mut self, bias: bool) -> Self {
        self.set_bias(bias);
        self
    }

    /// Removes the bias, or adds one of zeros.
    pub(super) fn set_bias(&mut self, bias: bool) {
        if bias != self.bias.is_some() {
            self.bias = bias.then(|| Parameter::new(&self.weight.tensor().zeros_like()));
        }
    }
}

impl Layer for LayerNorm {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        let weight = self.weight.tensor();
        let bias = self
            .bias
            .as_ref()
            .map_or_else(|| weight.zeros_like(), Parameter::tensor);
        let (x, weight, bias) = (input.raw(), weight.raw(), bias.raw());
        output_of(
            self,
            ops::layer_norm_as(&check::name(self), x, weight, bias, self.eps),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::tests::message_of;

    #[test]
    fn a_wrong_input_is_explained() {
        let norm = LayerNorm::new(3);
        assert_eq!(
            message_of(|| norm.forward(&zeros((2, 4)))),
            "LayerNorm(3) cannot take an input of shape [2, 4]\nIts last dimension must be 3"
        );
        assert!(attempt(|| LayerNorm::new(0)).is_err());
    }
}
