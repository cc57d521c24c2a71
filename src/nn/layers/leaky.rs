//! Activation functions with a setting.

use crate::nn::layer::boxed_here;
use crate::nn::summary::{output_of, record_output};
use crate::nn::{Layer, Parameters, check};
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
        record_output(self, ops::leaky_relu(input, self.negative_slope))
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
        record_output(self, ops::elu(input, self.alpha))
    }
}

/// A smooth rectified linear unit: `log(1 + exp(beta · x)) / beta`. Any shape; the output has the same shape.
///
/// Where `beta · x` is above `threshold`, the output is `x`, as there the two are equal.
///
/// ```
/// use taper::prelude::*;
///
/// let y = Softplus::new().forward(&tensor(&[0.0, 30.0]));
/// assert_eq!(y.to_vec1::<f32>(), [2f32.ln(), 30.0]);
/// ```
#[derive(Clone, Copy, Parameters)]
pub struct Softplus {
    beta: f64,
    threshold: f64,
}

impl Softplus {
    /// Creates the layer with `beta = 1` and the threshold 20.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Softplus::new().describe(), "Softplus(beta=1.0, threshold=20.0)");
    /// ```
    pub fn new() -> Self {
        Self {
            beta: 1.0,
            threshold: 20.0,
        }
    }

    setters! {
        /// Sets `beta`: the larger it is, the closer the function is to [`ReLU`](crate::nn::ReLU).
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = Softplus::new().beta(2.0).forward(&tensor(&[0.0]));
        /// assert_eq!(y.to_vec1::<f32>(), [2f32.ln() / 2.0]);
        /// ```
        pub fn beta(self, beta: f64): self.beta = beta;

        /// Sets the value of `beta · x` above which the output is `x`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = Softplus::new().threshold(1.0).forward(&tensor(&[2.0]));
        /// assert_eq!(y.to_vec1::<f32>(), [2.0]);
        /// ```
        pub fn threshold(self, threshold: f64): self.threshold = threshold;
    }
}

impl Default for Softplus {
    fn default() -> Self {
        Self::new()
    }
}

impl Layer for Softplus {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        record_output(self, ops::softplus(input, self.beta, self.threshold))
    }
}

/// A gated linear unit: the first half of a dimension, times the sigmoid of the second half. From Dauphin et al., 2016.
///
/// # Shapes
/// `(…, 2 n, …)` to `(…, n, …)`; the dimension is the last, unless it is set.
///
/// ```
/// use taper::prelude::*;
///
/// let y = GLU::new().forward(&tensor(&[[4.0, 0.0]])); // (1, 1)
/// assert_eq!(y.item(), 2.0);
/// ```
#[derive(Clone, Copy, Parameters)]
pub struct GLU {
    dim: i64,
}

impl GLU {
    /// Creates the layer for the last dimension.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(GLU::new().describe(), "GLU(dim=-1)");
    /// ```
    pub fn new() -> Self {
        Self { dim: -1 }
    }

    setters! {
        /// Sets the dimension that is split, such as 1 for the channels of images.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = GLU::new().dim(1).forward(&zeros((2, 6, 5)));
        /// assert_eq!(y.dims(), [2, 3, 5]);
        /// ```
        pub fn dim(self, dim: i64): self.dim = dim;
    }
}

impl Default for GLU {
    fn default() -> Self {
        Self::new()
    }
}

impl Layer for GLU {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        let y = ops::glu_as(&check::name(self), input.raw(), self.dim.into());
        output_of(self, y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::Parameter;
    use crate::nn::tests::message_of;
    use crate::tensor::tensor;
    use candle_core::DType;

    #[test]
    fn extreme_values_have_gradients_and_nan_stays_nan() {
        let x = tensor(&[1e4, -1e4, f64::NAN]);
        for layer in [
            &LeakyReLU::new() as &dyn Layer,
            &ELU::new(),
            &Softplus::new(),
        ] {
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
    #[test]
    fn an_odd_number_of_features_has_no_halves() {
        let layers: [&dyn Layer; 2] = [&GLU::new(), &crate::nn::SwiGLU];
        for layer in layers {
            let message = message_of(|| layer.forward(&tensor(&[1.0, 2.0, 3.0])));
            assert!(
                message.ends_with(
                    ": expected an even size of dimension 0, found shape [3]\n\
                     Let the layer before it have twice as many outputs"
                ),
                "{message}"
            );
        }
    }
}
