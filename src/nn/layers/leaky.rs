//! Activation functions with a setting.

use crate::nn::layer::boxed_here;
use crate::nn::summary::seen;
use crate::nn::{Layer, Parameters};
use crate::ops;
use crate::tensor::Tensor;

/// A rectified linear unit with a small slope for negative values: `x`, or `negative_slope · x` where
/// `x < 0`. From Maas, Hannun and Ng, 2013. Any shape; the output has the same shape.
///
/// ```
/// use taper::prelude::*;
///
/// let y = LeakyReLU::new().forward(&tensor(&[-2.0, 3.0]));
/// assert_eq!(y.to_vec1::<f32>(), [-0.02, 3.0]);
/// ```
#[derive(Clone, Copy, Parameters)]
pub struct LeakyReLU {
    negative_slope: f64,
}

impl LeakyReLU {
    /// Creates the layer with the slope 0.01.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(LeakyReLU::new().describe(), "LeakyReLU(negative_slope=0.01)");
    /// ```
    pub fn new() -> Self {
        Self {
            negative_slope: 0.01,
        }
    }

    /// Sets the slope for negative values.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = LeakyReLU::new().negative_slope(0.5).forward(&tensor(&[-2.0]));
    /// assert_eq!(y.to_vec1::<f32>(), [-1.0]);
    /// ```
    pub fn negative_slope(mut self, negative_slope: f64) -> Self {
        self.negative_slope = negative_slope;
        self
    }
}

impl Default for LeakyReLU {
    fn default() -> Self {
        Self::new()
    }
}

impl Layer for LeakyReLU {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        seen(self, ops::leaky_relu(input, self.negative_slope))
    }
}

/// The exponential linear unit: `x`, or `alpha · (exp(x) - 1)` where `x < 0`. From Clevert, Unterthiner
/// and Hochreiter, 2015. Any shape; the output has the same shape.
///
/// ```
/// use taper::prelude::*;
///
/// let y = ELU::new().forward(&tensor(&[-100.0, 3.0]));
/// assert_eq!(y.to_vec1::<f32>(), [-1.0, 3.0]);
/// ```
#[derive(Clone, Copy, Parameters)]
pub struct ELU {
    alpha: f64,
}

impl ELU {
    /// Creates the layer with `alpha = 1`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(ELU::new().describe(), "ELU(alpha=1.0)");
    /// ```
    pub fn new() -> Self {
        Self { alpha: 1.0 }
    }

    /// Sets `alpha`: for large negative inputs, the output approaches `-alpha`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = ELU::new().alpha(0.5).forward(&tensor(&[-100.0]));
    /// assert_eq!(y.to_vec1::<f32>(), [-0.5]);
    /// ```
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }
}

impl Default for ELU {
    fn default() -> Self {
        Self::new()
    }
}

impl Layer for ELU {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        seen(self, ops::elu(input, self.alpha))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::Parameter;
    use crate::tensor::tensor;
    use candle_core::DType;

    #[test]
    fn extreme_values_have_gradients_and_nan_stays_nan() {
        let x = tensor(&[1e4, -1e4, f64::NAN]);
        for layer in [&LeakyReLU::new() as &dyn Layer, &ELU::new()] {
            let x = Parameter::new(&x).tensor();
            let y = layer.forward(&x);
            let gradients = y.sum_all().backward();
            let gradient = gradients.get(&x).unwrap().to_vec1::<f32>();
            assert!(
                gradient[0] == 1.0 && (0.0..0.1).contains(&gradient[1]),
                "{gradient:?}"
            );
            assert!(y.to_vec1::<f32>()[2].is_nan(), "{layer:?}");
            let integers = x.to_dtype(DType::I64);
            assert!(attempt(|| layer.forward(&integers)).is_err());
        }
    }
}
