//! The functions, with their derivatives.

use crate::ops::engine::simd::Element;

/// A function with its derivative.
pub(super) trait Differentiable: Copy + Send + Sync + 'static {
    /// Whether the derivative is computed from the input; otherwise, from the output.
    const FROM_INPUT: bool = false;
    /// Whether the forward pass computes the derivative, too, because it shares most of the work.
    const TOGETHER: bool = false;
    fn value<T: Element>(self, x: T) -> T;
    fn derivative<T: Element>(self, saved: T) -> T;

    /// Returns the value and the derivative.
    #[inline(always)]
    fn both<T: Element>(self, x: T) -> (T, T) {
        (self.value(x), self.derivative(x))
    }
}

/// What has a derivative that is known already.
#[derive(Clone, Copy)]
pub(super) struct Known;

impl Differentiable for Known {
    const FROM_INPUT: bool = true;

    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        x
    }

    #[inline(always)]
    fn derivative<T: Element>(self, derivative: T) -> T {
        derivative
    }
}

#[derive(Clone, Copy)]
pub(super) struct Relu;

impl Differentiable for Relu {
    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        if x <= T::ZERO { T::ZERO } else { x }
    }

    #[inline(always)]
    fn derivative<T: Element>(self, y: T) -> T {
        if y <= T::ZERO { T::ZERO } else { T::ONE }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Sigmoid;

impl Differentiable for Sigmoid {
    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        T::ONE / (T::ONE + (-x).exp())
    }

    #[inline(always)]
    fn derivative<T: Element>(self, y: T) -> T {
        y * (T::ONE - y)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Tanh;

impl Differentiable for Tanh {
    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        Element::tanh(x)
    }

    #[inline(always)]
    fn derivative<T: Element>(self, y: T) -> T {
        T::ONE - y * y
    }
}

#[derive(Clone, Copy)]
pub(super) struct Exp;

impl Differentiable for Exp {
    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        Element::exp(x)
    }

    #[inline(always)]
    fn derivative<T: Element>(self, y: T) -> T {
        y
    }
}

#[derive(Clone, Copy)]
pub(super) struct Log;

impl Differentiable for Log {
    const FROM_INPUT: bool = true;

    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        Element::ln(x)
    }

    #[inline(always)]
    fn derivative<T: Element>(self, x: T) -> T {
        T::ONE / x
    }
}

#[derive(Clone, Copy)]
pub(super) struct Gelu;

impl Differentiable for Gelu {
    const FROM_INPUT: bool = true;
    const TOGETHER: bool = true;

    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        x * x.normal_cdf()
    }

    #[inline(always)]
    fn derivative<T: Element>(self, x: T) -> T {
        self.both(x).1
    }

    #[inline(always)]
    fn both<T: Element>(self, x: T) -> (T, T) {
        let cdf = x.normal_cdf();
        // The density of the normal distribution: 1/√2π at 0.
        let density = T::of(0.398_942_280_401_432_7) * (x * x * T::of(-0.5)).exp();
        (x * cdf, cdf + x * density)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Silu;

impl Differentiable for Silu {
    const FROM_INPUT: bool = true;
    const TOGETHER: bool = true;

    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        x * Sigmoid.value(x)
    }

    #[inline(always)]
    fn derivative<T: Element>(self, x: T) -> T {
        self.both(x).1
    }

    #[inline(always)]
    fn both<T: Element>(self, x: T) -> (T, T) {
        let s = Sigmoid.value(x);
        (x * s, s * (T::ONE + x * (T::ONE - s)))
    }
}

#[derive(Clone, Copy)]
pub(super) struct LeakyRelu(pub(super) f64);

impl Differentiable for LeakyRelu {
    const FROM_INPUT: bool = true;

    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        if x > T::ZERO { x } else { x * T::of(self.0) }
    }

    #[inline(always)]
    fn derivative<T: Element>(self, x: T) -> T {
        if x > T::ZERO { T::ONE } else { T::of(self.0) }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Elu(pub(super) f64);

impl Differentiable for Elu {
    const FROM_INPUT: bool = true;

    #[inline(always)]
    fn value<T: Element>(self, x: T) -> T {
        if x > T::ZERO {
            x
        } else {
            x.exp_m1() * T::of(self.0)
        }
    }

    #[inline(always)]
    fn derivative<T: Element>(self, x: T) -> T {
        if x > T::ZERO {
            T::ONE
        } else {
            x.exp() * T::of(self.0)
        }
    }
}
