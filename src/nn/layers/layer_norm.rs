//! Layer normalisation.

use crate::nn::summary::seen;
use crate::nn::{Layer, Parameter, Parameters, check};
use crate::ops;
use crate::tensor::{ones, zeros};
use candle_core::{Device, Result, Tensor};

/// Layer normalisation: each example gets mean 0 and variance 1 over its last dimension, then a
/// learned scale and shift for each feature. From Ba, Kiros and Hinton, 2016.
///
/// # Shapes
/// `(…, features)`; the output has the same shape.
///
/// ```
/// use taper::prelude::*;
///
/// let norm = LayerNorm::new(2)?;
/// let y = norm.forward(&tensor(&[[1.0, 3.0]], &cpu())?)?; // (1, 2)
/// assert!((y.to_vec2::<f32>()?[0][1] - 1.0).abs() < 1e-4);
/// # Ok::<(), Error>(())
/// ```
#[derive(Parameters)]
#[describe(self.weight.size(0))]
pub struct LayerNorm {
    weight: Parameter,
    bias: Parameter,
    eps: f64,
}

impl LayerNorm {
    /// Creates a layer for this many features, on the CPU.
    ///
    /// # Errors
    /// If `features` is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(LayerNorm::new(8)?.num_parameters(), 16);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(features: usize) -> Result<Self> {
        check::positive("LayerNorm", &[("features", features)])?;
        Ok(Self {
            weight: Parameter::new(&ones(features, &Device::Cpu)?)?,
            bias: Parameter::new(&zeros(features, &Device::Cpu)?)?,
            eps: 1e-5,
        })
    }

    /// Sets the value that is added to the variance; 1e-5 by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let norm = LayerNorm::new(2)?.eps(0.0);
    /// assert_eq!(norm.forward(&tensor(&[1.0, 3.0], &cpu())?)?.to_vec1::<f32>()?, [-1.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = eps;
        self
    }
}

impl Layer for LayerNorm {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let (weight, bias) = (self.weight.tensor()?, self.bias.tensor()?);
        let y = ops::layer_norm_as(&check::name(self), input, &weight, &bias, self.eps)?;
        seen(self, y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_input_is_explained() {
        let norm = LayerNorm::new(3).unwrap();
        let message = norm
            .forward(&zeros((2, 4), &Device::Cpu).unwrap())
            .unwrap_err();
        assert_eq!(
            message.to_string(),
            "LayerNorm(3) cannot take an input of shape [2, 4]\nIts last dimension must be 3"
        );
        assert!(LayerNorm::new(0).is_err());
    }
}
