//! Normalisation by the root mean square.

use crate::nn::summary::seen;
use crate::nn::{Layer, Parameter, Parameters, check};
use crate::ops;
use crate::tensor::ones;
use candle_core::{DType, Device, Result, Tensor};

/// Divides each example by its root mean square over the last dimension, then multiplies each feature by a
/// learned scale. From Zhang and Sennrich, 2019.
///
/// # Shapes
/// `(…, features)`; the output has the same shape.
///
/// ```
/// use taper::prelude::*;
///
/// let norm = RMSNorm::new(2)?;
/// let y = norm.forward(&tensor(&[[1.0, 7.0]], &cpu())?)?; // (1, 2)
/// assert!((y.to_vec2::<f32>()?[0][1] - 1.4).abs() < 1e-6); // 7 / √25
/// # Ok::<(), Error>(())
/// ```
#[derive(Parameters)]
#[describe(self.weight.size(0), eps = self.eps)]
pub struct RMSNorm {
    weight: Parameter,
    eps: Option<f64>,
}

impl RMSNorm {
    /// Creates a layer for this many features, on the CPU.
    ///
    /// # Errors
    /// If `features` is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(RMSNorm::new(8)?.num_parameters(), 8);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(features: usize) -> Result<Self> {
        check::positive("RMSNorm", &[("features", features)])?;
        let weight = Parameter::new(&ones(features, &Device::Cpu)?)?;
        Ok(Self { weight, eps: None })
    }

    /// Sets the value that is added to the mean square; by default the machine epsilon of the input's type.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(RMSNorm::new(8)?.eps(1e-6).describe(), "RMSNorm(8, eps=1e-6)");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = Some(eps);
        self
    }
}

impl Layer for RMSNorm {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let eps = self.eps.unwrap_or(match input.dtype() {
            DType::F64 => f64::EPSILON,
            DType::BF16 => 2f64.powi(-7),
            DType::F16 => 2f64.powi(-10),
            _ => f32::EPSILON.into(),
        });
        let y = ops::rms_norm_as(&check::name(self), input, &self.weight.tensor()?, eps)?;
        seen(self, y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::zeros;

    #[test]
    fn wrong_inputs_are_explained() {
        let norm = RMSNorm::new(4).unwrap();
        let x = |shape: &[usize]| zeros(shape, &Device::Cpu).unwrap();
        assert_eq!(
            norm.forward(&x(&[2, 3])).unwrap_err().to_string(),
            "RMSNorm(4) cannot take an input of shape [2, 3]\nIts last dimension must be 4"
        );
        assert!(norm.forward(&x(&[])).is_err() && RMSNorm::new(0).is_err());
        assert_eq!(norm.forward(&x(&[0, 4])).unwrap().dims(), [0, 4]);
    }
}
