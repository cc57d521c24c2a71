//! Activation functions, which are applied to each element.

mod functions;

use super::elementwise::{apply, define_functions};
use crate::error::OrRaise;
use crate::tensor::{Raw, Tensor};
use candle_core::Result;
use functions::{Elu, Gelu, LeakyRelu, Relu, Sigmoid, Silu, Tanh};
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
    sigmoid sigmoid_as(): Sigmoid, candle_nn::ops::sigmoid;

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

    /// Returns `x · sigmoid(x)`, also called Swish.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(silu(&tensor(0.0)).item(), 0.0);
    /// ```
    silu silu_as(): Silu, Raw::silu;

    /// Returns `x` where it is positive, and `negative_slope · x` elsewhere; 0.01 is a common slope.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = leaky_relu(&tensor(&[-2.0, 3.0]), 0.5); // (2,)
    /// assert_eq!(y.to_vec1::<f32>(), [-1.0, 3.0]);
    /// ```
    leaky_relu leaky_relu_as(negative_slope: f64): LeakyRelu(negative_slope), |x| {
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
    elu elu_as(alpha: f64): Elu(alpha), |x| {
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

#[cfg(test)]
mod tests;
