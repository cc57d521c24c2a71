//! Activation functions with a setting.

use crate::layer;
use crate::nn::check;
use crate::nn::summary::{output_of, record_output};
use crate::ops;
use crate::tensor::Tensor;

layer! {
    /// A rectified linear unit with a small slope for negative values: `x`, or `negative_slope · x` where
    /// `x < 0`. From Maas, Hannun and Ng, 2013. Any shape; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = LeakyReLU::new().forward(&tensor(&[-2.0, 3.0]));
    /// assert_eq!(y.to_vec1::<f32>(), [-0.02, 3.0]);
    /// ```
    #[derive(Clone, Copy)]
    pub struct LeakyReLU {
        /// Sets the slope for negative values.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = LeakyReLU::new().negative_slope(0.5).forward(&tensor(&[-2.0]));
        /// assert_eq!(y.to_vec1::<f32>(), [-1.0]);
        /// ```
        set negative_slope: f64 = 0.01,
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        record_output(self, ops::leaky_relu(x, self.negative_slope))
    }
}

layer! {
    /// The exponential linear unit: `x`, or `alpha · (exp(x) - 1)` where `x < 0`. From Clevert, Unterthiner
    /// and Hochreiter, 2015. Any shape; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = ELU::new().forward(&tensor(&[-100.0, 3.0]));
    /// assert_eq!(y.to_vec1::<f32>(), [-1.0, 3.0]);
    /// ```
    #[derive(Clone, Copy)]
    pub struct ELU {
        /// Sets `alpha`: for large negative inputs, the output approaches `-alpha`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = ELU::new().alpha(0.5).forward(&tensor(&[-100.0]));
        /// assert_eq!(y.to_vec1::<f32>(), [-0.5]);
        /// ```
        set alpha: f64 = 1.0,
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        record_output(self, ops::elu(x, self.alpha))
    }
}

layer! {
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
    #[derive(Clone, Copy)]
    pub struct Softplus {
        /// Sets `beta`: the larger it is, the closer the function is to [`ReLU`](crate::nn::ReLU).
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = Softplus::new().beta(2.0).forward(&tensor(&[0.0]));
        /// assert_eq!(y.to_vec1::<f32>(), [2f32.ln() / 2.0]);
        /// ```
        set beta: f64 = 1.0,
        /// Sets the value of `beta · x` above which the output is `x`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = Softplus::new().threshold(1.0).forward(&tensor(&[2.0]));
        /// assert_eq!(y.to_vec1::<f32>(), [2.0]);
        /// ```
        set threshold: f64 = 20.0,
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        record_output(self, ops::softplus(x, self.beta, self.threshold))
    }
}

layer! {
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
    #[derive(Clone, Copy)]
    pub struct GLU {
        /// Sets the dimension that is split, such as 1 for the channels of images.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = GLU::new().dim(1).forward(&zeros((2, 6, 5)));
        /// assert_eq!(y.dims(), [2, 3, 5]);
        /// ```
        set dim: i64 = -1,
    }
    fn forward(&self, x: &Tensor) -> Tensor {
        output_of(self, ops::glu_as(&check::name(self), x.raw(), self.dim.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::Layer;
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
