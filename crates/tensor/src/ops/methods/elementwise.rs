//! Functions of each element, and matrix products.

use crate::error::OrRaise;
use crate::ops::{self, Arithmetic, arithmetic, arithmetic_number};
use crate::tensor::{Axis, Number, Operand, Tensor};

/// Methods that call a function of `ops` with the same name.
macro_rules! same_as_function {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[track_caller]
        pub fn $name(&self) -> Tensor {
            ops::$name(self)
        }
    )*};
}

impl Tensor {
    same_as_function! {
        /// Returns the absolute value of each element, with the gradient 0 at 0.
        abs;
        /// Returns the square of each element.
        sqr;
        /// Returns the square root of each element.
        sqrt;
        /// Returns `1 / x` for each element.
        recip;
        /// Returns the sine of each element, in radians.
        sin;
        /// Returns the cosine of each element, in radians.
        cos;
        /// Returns the error function of each element.
        erf;
        /// Returns −1, 0 or 1: the sign of each element.
        sign;
        /// Returns the largest integer that is not above each element.
        floor;
        /// Returns the smallest integer that is not below each element.
        ceil;
        /// Returns the nearest integer to each element; halves go to the even one, as in PyTorch.
        round;
        /// Returns `eˣ` for each element.
        exp;
        /// Returns the natural logarithm of each element.
        log;
        /// Returns `max(x, 0)` for each element.
        relu;
        /// Returns `1 / (1 + exp(-x))` for each element.
        sigmoid;
        /// Returns the hyperbolic tangent of each element.
        tanh;
        /// Returns [`gelu`](ops::gelu) of each element.
        gelu;
        /// Returns [`gelu_tanh`](ops::gelu_tanh) of each element.
        gelu_tanh;
        /// Returns [`silu`](ops::silu) of each element.
        silu;
        /// Returns [`hardswish`](ops::hardswish) of each element.
        hardswish;
        /// Returns [`mish`](ops::mish) of each element.
        mish;
    }

    methods! {
        /// Returns each element rounded to this many decimal places.
        pub fn round_to(&self, decimals: i32) -> Tensor = {
            let scale = 10f64.powi(decimals);
            (self * scale).round() / scale
        };
        /// Returns `-x` for each element.
        pub fn neg(&self) -> Tensor = -self;
        /// Returns each element to a power: a number, or a tensor that is broadcast.
        pub fn pow(&self, exponent: impl Into<Operand>) -> Tensor = self.combine(Arithmetic::Pow, exponent.into());
        /// Returns each element to the power of a number.
        pub fn powf(&self, exponent: f64) -> Tensor
            = self.combine(Arithmetic::Pow, Operand::Number(Number::Float(exponent)));
        /// Returns the larger of each element and another: of a tensor that is broadcast, or a number.
        pub fn maximum(&self, other: impl Into<Operand>) -> Tensor = self.combine(Arithmetic::Maximum, other.into());
        /// Returns the smaller of each element and another: of a tensor that is broadcast, or a number.
        pub fn minimum(&self, other: impl Into<Operand>) -> Tensor = self.combine(Arithmetic::Minimum, other.into());

        /// Returns each element, but at least `low` and at most `high`: scalars, or tensors that are broadcast. At a bound,
        /// the gradient is 0 for scalars, and for tensors shared with the bound, as in PyTorch.
        pub fn clamp(&self, low: impl Into<Operand>, high: impl Into<Operand>) -> Tensor
            = self.clamped(low.into(), high.into());

        /// Returns [`leaky_relu`](ops::leaky_relu) of each element, with the slope 0.01.
        pub fn leaky_relu(&self) -> Tensor = ops::leaky_relu(self, 0.01);
        /// Returns [`elu`](ops::elu) of each element, with `alpha` 1.
        pub fn elu(&self) -> Tensor = ops::elu(self, 1.0);
        /// Returns [`softplus`](ops::softplus) of each element, `log(1 + eˣ)`.
        pub fn softplus(&self) -> Tensor = ops::softplus(self, 1.0, 20.0);

        /// Returns probabilities along a dimension, as [`softmax`](ops::softmax) does.
        pub fn softmax(&self, dim: impl Into<Axis>) -> Tensor = ops::softmax(self, dim);
        /// Returns the logarithm of the softmax, as [`log_softmax`](ops::log_softmax) does.
        pub fn log_softmax(&self, dim: impl Into<Axis>) -> Tensor = ops::log_softmax(self, dim);
        /// Returns the matrix product, as [`matmul`](ops::matmul) does.
        pub fn matmul(&self, other: &Tensor) -> Tensor = ops::matmul(self, other);
        /// Returns the sums of the elements before and at each index of a dimension.
        pub fn cumsum(&self, dim: impl Into<Axis>) -> Tensor = ops::cumsum(self, dim);
    }

    #[track_caller]
    fn combine(&self, op: Arithmetic, other: Operand) -> Tensor {
        let result = match other {
            Operand::Tensor(other) => arithmetic(op, self.raw(), other.raw()),
            Operand::Number(number) => arithmetic_number(op, self.raw(), number, false),
        };
        result.or_raise().into()
    }

    #[track_caller]
    fn clamped(&self, low: Operand, high: Operand) -> Tensor {
        if let (Operand::Number(low), Operand::Number(high)) = (&low, &high) {
            return ops::clamp(self, *low, *high);
        }
        self.combine(Arithmetic::Maximum, low)
            .combine(Arithmetic::Minimum, high)
    }
}
