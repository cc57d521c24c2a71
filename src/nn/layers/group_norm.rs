//! Group normalisation.

use crate::error::explain;
use crate::nn::summary::seen;
use crate::nn::{Layer, Parameter, Parameters, check};
use crate::ops;
use crate::tensor::{ones, zeros};
use candle_core::{Device, Result, Tensor};

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
/// let norm = GroupNorm::new(1, 2)?;
/// let y = norm.forward(&tensor(&[[1.0, 3.0]], &cpu())?)?; // (1, 2)
/// assert!((y.to_vec2::<f32>()?[0][1] - 1.0).abs() < 1e-4);
/// # Ok::<(), Error>(())
/// ```
#[derive(Parameters)]
#[describe(self.num_groups, self.weight.size(0), eps = self.eps)]
pub struct GroupNorm {
    weight: Parameter,
    bias: Parameter,
    num_groups: usize,
    eps: f64,
}

impl GroupNorm {
    /// Creates a layer that splits this many channels into this many groups, on the CPU.
    ///
    /// # Errors
    /// If one of them is 0, or `num_groups` does not divide `num_channels`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(GroupNorm::new(4, 8)?.num_parameters(), 16);
    /// assert!(GroupNorm::new(3, 8).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(num_groups: usize, num_channels: usize) -> Result<Self> {
        let sizes = [("num_groups", num_groups), ("num_channels", num_channels)];
        check::positive("GroupNorm", &sizes)?;
        if !num_channels.is_multiple_of(num_groups) {
            return Err(explain(
                format!("GroupNorm: {num_groups} groups cannot share {num_channels} channels"),
                "Choose a number of groups that divides the channels",
            ));
        }
        Ok(Self {
            weight: Parameter::new(&ones(num_channels, &Device::Cpu)?)?,
            bias: Parameter::new(&zeros(num_channels, &Device::Cpu)?)?,
            num_groups,
            eps: 1e-5,
        })
    }

    /// Sets the value that is added to the variance; 1e-5 by default.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(GroupNorm::new(1, 2)?.eps(0.001).describe(), "GroupNorm(1, 2, eps=0.001)");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = eps;
        self
    }
}

impl Layer for GroupNorm {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let (weight, bias) = (self.weight.tensor()?, self.bias.tensor()?);
        let y = ops::group_norm_as(
            &check::name(self),
            input,
            self.num_groups,
            &weight,
            &bias,
            self.eps,
        )?;
        seen(self, y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_inputs_are_explained() {
        let norm = GroupNorm::new(2, 4).unwrap();
        let x = |shape: &[usize]| zeros(shape, &Device::Cpu).unwrap();
        assert_eq!(
            norm.forward(&x(&[2, 3])).unwrap_err().to_string(),
            "GroupNorm(2, 4, eps=1e-5) cannot take an input of shape [2, 3]\n\
             Its second dimension, the channels, must be 4"
        );
        assert!(norm.forward(&x(&[4])).is_err() && GroupNorm::new(0, 4).is_err());
        assert_eq!(norm.forward(&x(&[0, 4, 2])).unwrap().dims(), [0, 4, 2]);
    }
}
