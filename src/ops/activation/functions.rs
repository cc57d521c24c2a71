//! The functions, with their derivatives.

use crate::ops::elementwise::{Function, Saved};
use crate::ops::engine::simd::Element;

#[derive(Clone, Copy)]
pub(super) struct Relu;

impl Function for Relu {
    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        if x <= T::ZERO { T::ZERO } else { x }
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, y: T) -> T {
        if y <= T::ZERO { T::ZERO } else { T::ONE }
    }

    #[inline(always)]
    fn gradient<T: Element, const FUSED: bool>(self, gradient: T, y: T) -> T {
        if y <= T::ZERO { T::ZERO } else { gradient }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Sigmoid;

impl Function for Sigmoid {
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

impl Function for Tanh {
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
pub(super) struct Gelu;

impl Function for Gelu {
    const SAVED: Saved = Saved::Input;
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

impl Function for Silu {
    const SAVED: Saved = Saved::Input;
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

impl Function for LeakyRelu {
    const SAVED: Saved = Saved::Input;

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

impl Function for Elu {
    const SAVED: Saved = Saved::Input;

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
