//! Activation functions, which are applied to each element.

use super::elementwise::{apply, define_functions};
use super::quantity::Quantity;
use crate::error::OrRaise;
use crate::tensor::{Raw, Tensor};
use candle_core::Result;
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
    relu relu_as() = Relu {
        Output CHEAP;
        x => Q::select(x.le(0.0), 0.0, x);
        g, y => Q::select(y.le(0.0), 0.0, g)
    }

    /// Returns `1 / (1 + exp(-x))`, from 0 to 1.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(sigmoid(&tensor(0.0)).item(), 0.5);
    /// ```
    sigmoid sigmoid_as() = Sigmoid {
        Output SIGMOID;
        x => x.sigmoid();
        g, y => g * (y * y.complement());
        candle x => candle_nn::ops::sigmoid(x)
    }

    /// Returns the hyperbolic tangent, from -1 to 1.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(tanh(&tensor(0.0)).item(), 0.0);
    /// ```
    tanh tanh_as() = Tanh {
        Output;
        x => x.tanh();
        g, y => g * (y * y).complement();
        candle x => x.tanh()
    }

    /// Returns `x` times the probability that a standard normal variable is less than `x`. From Hendrycks
    /// and Gimpel, 2016.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = gelu(&tensor(&[0.0, 10.0])); // (2,)
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 10.0]);
    /// ```
    gelu gelu_as() = Gelu {
        both { let (cdf, density) = x.normal(); }
        x => x * cdf; cdf + x * density()
    }

    /// Returns [`gelu`] with a hyperbolic tangent in place of the normal distribution, as GPT-2 computes it; they differ by
    /// less than 0.001. PyTorch calls it `approximate="tanh"`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = gelu_tanh(&tensor(&[0.0, 10.0])); // (2,)
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 10.0]);
    /// ```
    gelu_tanh gelu_tanh_as() = GeluTanh {
        both {
            // Outside of this range the sigmoid function is 0 or 1. `(1 + tanh(z)) / 2` is the sigmoid function of `2 z`.
            let near = limited(limited(x, 20.0), -20.0);
            let cubic = near * 0.044715 * near;
            let s = (near * SLOPE * (cubic + 1.0)).sigmoid();
        }
        x => x * s; s + near * (s * s.complement()) * ((cubic * 3.0 + 1.0) * SLOPE)
    }

    /// Returns `x · sigmoid(x)`, also called Swish.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(silu(&tensor(0.0)).item(), 0.0);
    /// ```
    silu silu_as() = Silu {
        both { let s = x.sigmoid(); }
        x => x * s; s * (x * s.complement() + 1.0)
    }

    /// Returns `x` times a line that rises from 0 at -3 to 1 at 3: [`silu`] without an exponential. From Howard et al.,
    /// 2019.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = hardswish(&tensor(&[-4.0, 0.0, 4.0])); // (3,)
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 0.0, 4.0]);
    /// ```
    hardswish hardswish_as() = Hardswish {
        Input CHEAP;
        x => {
            let between = x * (x * (1.0 / 6.0) + 0.5);
            Q::select(x.ge(3.0), x, Q::select(x.le(-3.0), 0.0, between))
        };
        g, x => {
            let between = x * (1.0 / 3.0) + 0.5;
            g * Q::select(x.ge(3.0), 1.0, Q::select(x.le(-3.0), 0.0, between))
        }
    }

    /// Returns `x · tanh(softplus(x))`. From Misra, 2019.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = mish(&tensor(&[0.0, 30.0])); // (2,)
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 30.0]);
    /// ```
    mish mish_as() = Mish {
        both {
            // `tanh(log(1 + e))` is `n / (n + 2)` for `n = (1 + e)² - 1`. Beyond 20 it is 1, and the exponential would overflow.
            let e = limited(x, 20.0).exp();
            let n = e * (e + 2.0);
            let tanh = n / (n + 2.0);
        }
        x => x * tanh;
        {
            let rest = Q::from(2.0) / (n + 2.0); // 1 - tanh
            // Times a large `x`, what is left of the slope would not be small.
            tanh + x * Q::select(x.gt(20.0), 0.0, rest * (tanh + 1.0) * x.sigmoid())
        }
    }

    /// Returns `log(1 + exp(beta · x)) / beta`, a smooth [`relu`]; and `x` where `beta · x` is above `threshold`, as there
    /// the two are equal. 1 and 20 are common.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = softplus(&tensor(&[0.0, 30.0]), 1.0, 20.0).to_vec1::<f32>(); // (2,)
    /// assert_eq!(y, [2f32.ln(), 30.0]);
    /// ```
    softplus softplus_as(beta: f64, threshold: f64) = Softplus {
        Input;
        x => {
            let z = x * beta;
            let positive = Q::select(z.le(0.0), 0.0, z);
            let smooth = (positive + (-z.abs()).exp().ln_1p()) / beta;
            Q::select(z.gt(threshold), x, smooth)
        };
        g, x => {
            let z = x * beta;
            g * Q::select(z.gt(threshold), 1.0, z.sigmoid())
        }
    }

    /// Returns `x` where it is positive, and `negative_slope · x` elsewhere; 0.01 is a common slope.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = leaky_relu(&tensor(&[-2.0, 3.0]), 0.5); // (2,)
    /// assert_eq!(y.to_vec1::<f32>(), [-1.0, 3.0]);
    /// ```
    leaky_relu leaky_relu_as(negative_slope: f64) = LeakyRelu {
        Input CHEAP;
        x => Q::select(x.gt(0.0), x, x * negative_slope);
        g, x => Q::select(x.gt(0.0), g, g * negative_slope)
    }

    /// Returns `x` where it is positive, and `alpha · (exp(x) - 1)` elsewhere; 1 is a common `alpha`. From
    /// Clevert et al., 2015.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = elu(&tensor(&[-100.0, 3.0]), 1.0); // (2,)
    /// assert_eq!(y.to_vec1::<f32>(), [-1.0, 3.0]);
    /// ```
    elu elu_as(alpha: f64) = Elu {
        Input;
        x => Q::choose(x.gt(0.0), || x, || x.exp_m1() * alpha);
        // NaN has the derivative 1, as in PyTorch.
        g, x => g * Q::choose(x.le(0.0), || x.finite(0.0).exp() * alpha, || Q::from(1.0))
    }
}

/// `√(8 / π)`.
const SLOPE: f64 = 1.595_769_121_605_730_8;

/// Returns the value, or a bound that it exceeds: above 0 the largest, below 0 the smallest value. NaN stays NaN.
#[inline(always)]
fn limited<Q: Quantity>(x: Q, bound: f64) -> Q {
    let beyond = if bound > 0.0 {
        x.gt(bound)
    } else {
        x.lt(bound)
    };
    Q::select(beyond, bound, x)
}

#[cfg(test)]
mod tests;
