//! Activation functions, element by element, and softmax.

use crate::nn::summary::seen;
use crate::nn::{Layer, Parameters, check};
use crate::ops;
use candle_core::{D, Result, Tensor};

macro_rules! activation {
    ($(#[$doc:meta])* $name:ident, $function:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, Parameters)]
        pub struct $name;

        impl Layer for $name {
            fn forward(&self, input: &Tensor) -> Result<Tensor> {
                seen(self, $function(input)?)
            }
        }
    };
}

activation!(
    /// The rectified linear unit: `max(x, 0)`. Any shape, which stays.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = ReLU.forward(&tensor(&[-2.0, 3.0], &cpu())?)?;
    /// assert_eq!(y.to_vec1::<f32>()?, [0.0, 3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ReLU,
    relu
);

activation!(
    /// The sigmoid function, with values between 0 and 1: `1 / (1 + exp(-x))`. Any shape, which stays.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Sigmoid.forward(&tensor(&[0.0], &cpu())?)?;
    /// assert_eq!(y.to_vec1::<f32>()?, [0.5]);
    /// # Ok::<(), Error>(())
    /// ```
    Sigmoid,
    sigmoid
);

activation!(
    /// The hyperbolic tangent, with values between -1 and 1. Any shape, which stays.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Tanh.forward(&tensor(&[0.0], &cpu())?)?;
    /// assert_eq!(y.to_vec1::<f32>()?, [0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    Tanh,
    tanh
);

activation!(
    /// `x` times the probability that a standard normal variable is less than `x`. From Hendrycks and
    /// Gimpel, 2016. Any shape, which stays.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = GELU.forward(&tensor(&[0.0, 10.0], &cpu())?)?;
    /// assert_eq!(y.to_vec1::<f32>()?, [0.0, 10.0]);
    /// # Ok::<(), Error>(())
    /// ```
    GELU,
    gelu
);

activation!(
    /// `x · sigmoid(x)`, also called Swish. Any shape, which stays.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = SiLU.forward(&tensor(&[0.0], &cpu())?)?;
    /// assert_eq!(y.to_vec1::<f32>()?, [0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    SiLU,
    silu
);

activation!(
    /// Turns logits into probabilities, which sum to 1 along the last dimension. From d2l's chapter
    /// *Softmax Regression*. Any shape, which stays.
    ///
    /// A model for [`cross_entropy`](crate::nn::cross_entropy) ends without it.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Softmax.forward(&tensor(&[[3.0, 3.0]], &cpu())?)?;
    /// assert_eq!(y.to_vec2::<f32>()?, [[0.5, 0.5]]);
    /// # Ok::<(), Error>(())
    /// ```
    Softmax,
    softmax
);

macro_rules! with_kernel {
    ($name:ident, $activation:ident, $candle:expr) => {
        pub(super) fn $name(x: &Tensor) -> Result<Tensor> {
            match ops::activation(x, ops::Activation::$activation)? {
                Some(y) => Ok(y),
                None => $candle(x),
            }
        }
    };
}
with_kernel!(relu, ReLU, relu_with_candle);
with_kernel!(sigmoid, Sigmoid, candle_nn::ops::sigmoid);
with_kernel!(tanh, Tanh, Tensor::tanh);
with_kernel!(gelu, Gelu, gelu_with_candle);
with_kernel!(silu, SiLU, Tensor::silu);

/// As PyTorch's: its gradient at 0 is 0, where Candle's own has 1, and NaN stays NaN, which Candle's
/// own would hide.
fn relu_with_candle(x: &Tensor) -> Result<Tensor> {
    x.le(0.0)?.where_cond(&x.zeros_like()?, x)
}

/// Candle's own gradient of it is right to six digits only.
fn gelu_with_candle(x: &Tensor) -> Result<Tensor> {
    let below = ((x * std::f64::consts::FRAC_1_SQRT_2)?.erf()? + 1.0)?;
    x * (below * 0.5)?
}

fn softmax(x: &Tensor) -> Result<Tensor> {
    if x.rank() == 0 {
        let wanted = "It needs scores along the last dimension: (…, classes)";
        return Err(check::refused(&Softmax, x, wanted));
    }
    match ops::softmax(x)? {
        Some(y) => Ok(y),
        None => softmax_with_candle(x),
    }
}

fn softmax_with_candle(x: &Tensor) -> Result<Tensor> {
    let x = x
        .broadcast_sub(&x.detach().max_keepdim(D::Minus1)?)?
        .exp()?;
    x.broadcast_div(&x.sum_keepdim(D::Minus1)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{Operation, compare};
    use crate::tensor::{randn, tensor};
    use candle_core::{Device, Var};

    /// Value and derivative at ±1.5, worked out in double precision.
    #[test]
    fn values_and_gradients_are_right() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let check = |layer: &dyn Layer, value: &dyn Fn(f64) -> f64, slope: &dyn Fn(f64) -> f64| {
            let x = tensor(&[-1.5, 1.5], &Device::Cpu).unwrap();
            let x = Var::from_tensor(&x).unwrap();
            let y = layer.forward(&x).unwrap();
            let gradients = y.sum_all().unwrap().backward().unwrap();
            let gradient = gradients.get(&x).unwrap().to_vec1::<f32>().unwrap();
            let y = y.to_vec1::<f32>().unwrap();
            for (i, x) in [-1.5, 1.5].into_iter().enumerate() {
                assert!((y[i] as f64 - value(x)).abs() < 1e-6, "{layer:?} at {x}");
                assert!(
                    (gradient[i] as f64 - slope(x)).abs() < 1e-6,
                    "{layer:?} at {x}"
                );
            }
        };
        check(&ReLU, &|x| x.max(0.0), &|x| if x > 0.0 { 1.0 } else { 0.0 });
        check(&Sigmoid, &sigmoid, &|x| sigmoid(x) * (1.0 - sigmoid(x)));
        check(&Tanh, &f64::tanh, &|x| 1.0 - x.tanh().powi(2));
        check(&SiLU, &|x| x * sigmoid(x), &|x| {
            sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x)))
        });
    }

    #[test]
    fn no_activation_hides_a_nan() {
        let x = tensor(&[f64::NAN], &Device::Cpu).unwrap();
        let layers: [&dyn Layer; 6] = [&ReLU, &Sigmoid, &Tanh, &GELU, &SiLU, &Softmax];
        for layer in layers {
            let y = layer.forward(&x).unwrap().to_vec1::<f32>().unwrap();
            assert!(y[0].is_nan(), "{layer:?}");
        }
    }

    #[test]
    fn they_print_as_in_pytorch() {
        assert_eq!(
            format!("{ReLU:?} {Sigmoid:?} {Tanh:?}"),
            "ReLU() Sigmoid() Tanh()"
        );
    }

    #[test]
    fn the_kernels_agree_with_candle() {
        type Function = fn(&Tensor) -> Result<Tensor>;
        let functions: [(&str, Function, Function); 6] = [
            ("ReLU", relu, relu_with_candle),
            ("Sigmoid", sigmoid, candle_nn::ops::sigmoid),
            ("Tanh", tanh, Tensor::tanh),
            ("GELU", gelu, gelu_with_candle),
            ("SiLU", silu, Tensor::silu),
            ("Softmax", softmax, softmax_with_candle),
        ];
        for (name, kernel, candle) in functions {
            compare(name, 20, |case| {
                let shape = (case.between(1, 90), case.between(1, 800));
                let inputs = vec![case.input(randn(shape, &Device::Cpu))];
                let of = |function: Function| -> Operation { Box::new(move |x| function(&x[0])) };
                Some((inputs, of(kernel), of(candle)))
            });
        }
    }
}
