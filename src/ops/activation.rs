//! Activation functions, which are applied to each element.

mod functions;

use super::elementwise::{apply, define_functions};
use crate::error::OrRaise;
use crate::tensor::{Raw, Tensor};
use candle_core::Result;
use functions::{
    Elu, Gelu, GeluTanh, Hardswish, LeakyRelu, Mish, Relu, Sigmoid, Silu, Softplus, Tanh,
};
use std::fmt::Display;

define_functions! {
    /// Returns `max(x, 0)`, with the gradient 0 at 0. NaN stays NaN.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = relu(&tensor(&[-2.0, 3.0])); // (2,)
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 3.0]);
    /// ```
    relu relu_as(): Relu, relu_with_candle;

    /// Returns `1 / (1 + exp(-x))`, from 0 to 1.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(sigmoid(&tensor(0.0)).item(), 0.5);
    /// ```
    sigmoid sigmoid_as(): Sigmoid, Raw::sigmoid;

    /// Returns the hyperbolic tangent, from -1 to 1.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(tanh(&tensor(0.0)).item(), 0.0);
    /// ```
    tanh tanh_as(): Tanh, Raw::tanh;

    /// Returns `x` times the probability that a standard normal variable is less than `x`. From Hendrycks
    /// and Gimpel, 2016.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = gelu(&tensor(&[0.0, 10.0])); // (2,)
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 10.0]);
    /// ```
    gelu gelu_as(): Gelu, gelu_with_candle;

    /// Returns [`gelu`] with a hyperbolic tangent in place of the normal distribution, as GPT-2 computes it; they differ by
    /// less than 0.001. PyTorch calls it `approximate="tanh"`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = gelu_tanh(&tensor(&[0.0, 10.0])); // (2,)
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 10.0]);
    /// ```
    gelu_tanh gelu_tanh_as(): GeluTanh, gelu_tanh_with_candle;

    /// Returns `x · sigmoid(x)`, also called Swish.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(silu(&tensor(0.0)).item(), 0.0);
    /// ```
    silu silu_as(): Silu, |x| x * x.sigmoid()?;

    /// Returns `x` times a line that rises from 0 at -3 to 1 at 3: [`silu`] without an exponential. From Howard et al.,
    /// 2019.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = hardswish(&tensor(&[-4.0, 0.0, 4.0])); // (3,)
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 0.0, 4.0]);
    /// ```
    hardswish hardswish_as(): Hardswish, hardswish_with_candle;

    /// Returns `x · tanh(softplus(x))`. From Misra, 2019.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = mish(&tensor(&[0.0, 30.0])); // (2,)
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 30.0]);
    /// ```
    mish mish_as(): Mish, mish_with_candle;

    /// Returns `log(1 + exp(beta · x)) / beta`, a smooth [`relu`]; and `x` where `beta · x` is above `threshold`, as there
    /// the two are equal. 1 and 20 are common.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = softplus(&tensor(&[0.0, 30.0]), 1.0, 20.0).to_vec1::<f32>(); // (2,)
    /// assert_eq!(y, [2f32.ln(), 30.0]);
    /// ```
    softplus softplus_as(beta: f64, threshold: f64): Softplus { beta, threshold }, move |x| {
        softplus_with_candle(x, beta, threshold)
    };

    /// Returns `x` where it is positive, and `negative_slope · x` elsewhere; 0.01 is a common slope.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = leaky_relu(&tensor(&[-2.0, 3.0]), 0.5); // (2,)
    /// assert_eq!(y.to_vec1::<f32>(), [-1.0, 3.0]);
    /// ```
    leaky_relu leaky_relu_as(negative_slope: f64): LeakyRelu(negative_slope), move |x| {
        (x.gt(0.0)?).where_cond(x, &(x * negative_slope)?)
    };

    /// Returns `x` where it is positive, and `alpha · (exp(x) - 1)` elsewhere; 1 is a common `alpha`. From
    /// Clevert et al., 2015.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = elu(&tensor(&[-100.0, 3.0]), 1.0); // (2,)
    /// assert_eq!(y.to_vec1::<f32>(), [-1.0, 3.0]);
    /// ```
    elu elu_as(alpha: f64): Elu(alpha), move |x| {
        // The exponential of a large `x` would be infinite, and its gradient NaN.
        let negative = x.broadcast_minimum(&x.zeros_like()?)?;
        (x.gt(0.0)?).where_cond(x, &((negative.exp()? - 1.0)? * alpha)?)
    };
}

/// Returns `max(x, 0)`. Unlike with Candle's `x.relu()`, the gradient at 0 is 0, as in PyTorch, and NaN stays NaN.
fn relu_with_candle(x: &Raw) -> Result<Raw> {
    x.le(0.0)?.where_cond(&x.zeros_like()?, x)
}

/// Returns GELU by its definition. The gradient of Candle's `x.gelu_erf()` is exact to six digits only.
fn gelu_with_candle(x: &Raw) -> Result<Raw> {
    let cdf = ((x * std::f64::consts::FRAC_1_SQRT_2)?.erf()? + 1.0)?;
    x * (cdf * 0.5)?
}

fn gelu_tanh_with_candle(x: &Raw) -> Result<Raw> {
    let inner = (x * ((x.sqr()? * GeluTanh::CUBIC)? + 1.0)?)?;
    x * (inner * GeluTanh::SLOPE)?.sigmoid()?
}

fn hardswish_with_candle(x: &Raw) -> Result<Raw> {
    let between = (x * ((x / 6.0)? + 0.5)?)?;
    let lower = x.le(-3.0)?.where_cond(&x.zeros_like()?, &between)?;
    x.ge(3.0)?.where_cond(x, &lower)
}

/// Returns Mish without the logarithm of `softplus`; beyond 20 it is `x`, and the exponential would overflow.
fn mish_with_candle(x: &Raw) -> Result<Raw> {
    let far = x.gt(20.0)?;
    let e = far.where_cond(&x.zeros_like()?, x)?.exp()?;
    let n = (&e * (&e + 2.0)?)?;
    far.where_cond(x, &(x * (&n / (&n + 2.0)?)?)?)
}

fn softplus_with_candle(x: &Raw, beta: f64, threshold: f64) -> Result<Raw> {
    let z = (x * beta)?;
    let far = z.gt(threshold)?;
    let z = far.where_cond(&x.zeros_like()?, &z)?;
    let positive = relu_with_candle(&z)?;
    let distance = ((&positive * 2.0)? - &z)?; // |z|
    let smooth = (positive + (distance.neg()?.exp()? + 1.0)?.log()?)?;
    far.where_cond(x, &(smooth / beta)?)
}

#[cfg(test)]
mod tests;
