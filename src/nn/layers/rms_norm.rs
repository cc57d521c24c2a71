//! Normalisation by the root mean square.

use crate::nn::layer::boxed_here;
use crate::nn::summary::output_of;
use crate::nn::{Layer, Parameter, Parameters, check};
use crate::ops;
use crate::tensor::{Tensor, ones};
use candle_core::DType;

/// Divides each example by its root mean square over the last dimension, then multiplies each feature by a
/// learned scale. From Zhang and Sennrich, 2019.
///
/// # Shapes
/// `(…, features)`; the output has the same shape.
///
/// ```
/// use taper::prelude::*;
///
/// let norm = RMSNorm::new(2);
/// let y = norm.forward(&tensor(&[[1.0, 7.0]])); // (1, 2)
/// assert!((y.to_vec2::<f32>()[0][1] - 1.4).abs() < 1e-6); // 7 / √25
/// ```
#[derive(Parameters)]
#[describe(self.weight.size(0), eps = self.eps)]
pub struct RMSNorm {
    weight: Parameter,
    eps: Option<f64>,
}

impl RMSNorm {
    /// Creates a layer for this many features, on the default device.
    ///
    /// # Panics
    /// If `features` is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(RMSNorm::new(8).num_parameters(), 8);
    /// ```
    #[track_caller]
    pub fn new(features: usize) -> Self {
        check::positive("RMSNorm", &[("features", features)]);
        let weight = Parameter::new(&ones(features));
        Self { weight, eps: None }
    }

    /// Sets the value that is added to the mean square; by default the machine epsilon of the type in which
    /// it computes, which is `f32` for inputs of 16 bits.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(RMSNorm::new(8).eps(1e-6).describe(), "RMSNorm(8, eps=1e-6)");
    /// ```
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = Some(eps);
        self
    }
}

impl Layer for RMSNorm {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        let eps = self.eps.unwrap_or(match input.dtype() {
            DType::F64 => f64::EPSILON,
            _ => f32::EPSILON.into(),
        });
        let weight = self.weight.tensor();
        output_of(
            self,
            ops::rms_norm_as(&check::name(self), input.raw(), weight.raw(), eps),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::tests::message_of;
    use crate::tensor::zeros;

    #[test]
    fn wrong_inputs_are_explained() {
        let norm = RMSNorm::new(4);
        let x = |shape: &[usize]| zeros(shape);
        assert_eq!(
            message_of(|| norm.forward(&x(&[2, 3]))),
            "RMSNorm(4) cannot take an input of shape [2, 3]\nIts last dimension must be 4"
        );
        assert!(attempt(|| norm.forward(&x(&[]))).is_err());
        assert!(attempt(|| RMSNorm::new(0)).is_err());
        assert_eq!(norm.forward(&x(&[0, 4])).dims(), [0, 4]);
    }
}
