//! The functions, with their derivatives.

use crate::ops::engine::simd::Element;

/// A function with its derivative.
pub(super) trait Differentiable: Copy + Send + Sync + 'static {
    /// Whether the derivative is computed from the input; otherwise, from the output.
    const FROM_INPUT: bool = false;
    /// Whether the forward pass computes the derivative, too, because it shares most of the work.
    const TOGETHER: bool = false;
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T;
    fn derivative<T: Element, const FUSED: bool>(self, saved: T) -> T;

    /// Returns the value and the derivative.
    #[inline(always)]
    fn both<T: Element, const FUSED: bool>(self, x: T) -> (T, T) {
        (self.value::<T, FUSED>(x), self.derivative::<T, FUSED>(x))
    }
}

/// A function whose derivative the forward pass has computed and saved.
#[derive(Clone, Copy)]
pub(super) struct Known;

impl Differentiable for Known {
    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        x
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, derivative: T) -> T {
        derivative
    }
}

#[derive(Clone, Copy)]
pub(super) struct Relu;

impl Differentiable for Relu {
    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        if x <= T::ZERO { T::ZERO } else { x }
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, y: T) -> T {
        if y <= T::ZERO { T::ZERO } else { T::ONE }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Sigmoid;

impl Differentiable for Sigmoid {
    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        T::ONE / (T::ONE + (-x).exp::<FUSED>())
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, y: T) -> T {
        y * (T::ONE - y)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Tanh;

impl Differentiable for Tanh {
    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        Element::tanh::<FUSED>(x)
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, y: T) -> T {
        T::ONE - y * y
    }
}

#[derive(Clone, Copy)]
pub(super) struct Exp;

impl Differentiable for Exp {
    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        Element::exp::<FUSED>(x)
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, y: T) -> T {
        y
    }
}

#[derive(Clone, Copy)]
pub(super) struct Log;

impl Differentiable for Log {
    const FROM_INPUT: bool = true;

    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        Element::ln::<FUSED>(x)
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, x: T) -> T {
        T::ONE / x
    }
}

#[derive(Clone, Copy)]
pub(super) struct Gelu;

impl Differentiable for Gelu {
    const FROM_INPUT: bool = true;
    const TOGETHER: bool = true;

    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        x * x.normal::<FUSED>().0
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, x: T) -> T {
        self.both::<T, FUSED>(x).1
    }

    #[inline(always)]
    fn both<T: Element, const FUSED: bool>(self, x: T) -> (T, T) {
        let (cdf, density) = x.normal::<FUSED>();
        (x * cdf, cdf + x * density)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Silu;

impl Differentiable for Silu {
    const FROM_INPUT: bool = true;
    const TOGETHER: bool = true;

    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        x * Sigmoid.value::<T, FUSED>(x)
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, x: T) -> T {
        self.both::<T, FUSED>(x).1
    }

    #[inline(always)]
    fn both<T: Element, const FUSED: bool>(self, x: T) -> (T, T) {
        let s = Sigmoid.value::<T, FUSED>(x);
        (x * s, s * (T::ONE + x * (T::ONE - s)))
    }
}

#[derive(Clone, Copy)]
pub(super) struct LeakyRelu(pub(super) f64);

impl Differentiable for LeakyRelu {
    const FROM_INPUT: bool = true;

    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        if x > T::ZERO { x } else { x * T::of(self.0) }
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, x: T) -> T {
        if x > T::ZERO { T::ONE } else { T::of(self.0) }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Elu(pub(super) f64);

impl Differentiable for Elu {
    const FROM_INPUT: bool = true;

    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        if x > T::ZERO {
            x
        } else {
            x.exp_m1() * T::of(self.0)
        }
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, x: T) -> T {
        if x > T::ZERO {
            T::ONE
        } else {
            x.exp::<FUSED>() * T::of(self.0)
        }
    }
}
