//! Layer normalisation.

use crate::nn::summary::seen;
use crate::nn::{Layer, Parameter, Parameters, check};
use crate::ops;
use crate::tensor::{ones, zeros};
use candle_core::{D, Device, Result, Tensor};

/// Layer normalisation: each example gets mean 0 and variance 1 over its last dimension, then a
/// learned scale and shift for each feature. From Ba, Kiros and Hinton, 2016.
///
/// # Shapes
/// `(…, features)`, which stays.
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
}

impl Layer for LayerNorm {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let weight = self.weight.tensor()?;
        let features = weight.elem_count();
        if input.dims().last() != Some(&features) {
            let wanted = format!("Its last dimension must be {features}");
            return Err(check::refused(self, input, wanted));
        }
        check::same_place(self, input, &weight)?;
        let bias = self.bias.tensor()?;
        let y = match ops::layer_norm(input, &weight, &bias, self.eps)? {
            Some(y) => y,
            None => normalize(input, &weight, &bias, self.eps)?,
        };
        seen(self, y)
    }
}

/// With Candle's operations.
fn normalize(x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f64) -> Result<Tensor> {
    let centred = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
    let var = centred.sqr()?.mean_keepdim(D::Minus1)?;
    let y = centred.broadcast_div(&(var + eps)?.sqrt()?)?;
    y.broadcast_mul(weight)?.broadcast_add(bias)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{Operation, compare};
    use crate::tensor::{rand, randn};

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("LayerNorm", 40, |case| {
            let features = case.between(2, 300);
            let shape = (case.between(1, 5), case.between(1, 30), features);
            let x = randn(shape, &Device::Cpu).and_then(|x| (x * 3.0)? + 1.0);
            let inputs = vec![
                case.input(x),
                case.input(rand(features, &Device::Cpu)),
                case.input(randn(features, &Device::Cpu)),
            ];
            let eps = 1e-5;
            let kernel: Operation =
                Box::new(
                    move |x| Ok(ops::layer_norm(&x[0], &x[1], &x[2], eps)?.expect("a kernel")),
                );
            let candle: Operation = Box::new(move |x| normalize(&x[0], &x[1], &x[2], eps));
            Some((inputs, kernel, candle))
        });
    }

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
