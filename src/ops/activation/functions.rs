//! The functions, with their derivatives.

use crate::ops::elementwise::{Function, Saved};
use crate::ops::engine::simd::Element;
use crate::tensor::Tensor;

#[derive(Clone, Copy)]
pub(super) struct Relu;

impl Function for Relu {
    const CHEAP: bool = true;

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

    fn recorded(self, g: &Tensor, y: &Tensor) -> Option<Tensor> {
        Some(y.le(0.0).where_cond(0.0, g))
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

    fn recorded(self, g: &Tensor, y: &Tensor) -> Option<Tensor> {
        Some(g * y * (1.0 - y))
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

    fn recorded(self, g: &Tensor, y: &Tensor) -> Option<Tensor> {
        Some(g * (1.0 - y.sqr()))
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

    fn recorded(self, g: &Tensor, x: &Tensor) -> Option<Tensor> {
        use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};
        let cdf = ((x * FRAC_1_SQRT_2).erf() + 1.0) * 0.5;
        let density = (x.sqr() * -0.5).exp() * (0.5 * FRAC_1_SQRT_2 * FRAC_2_SQRT_PI);
        Some(g * (cdf + x * density))
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

    fn recorded(self, g: &Tensor, x: &Tensor) -> Option<Tensor> {
        let s = x.sigmoid();
        Some(g * &s * (1.0 + x * (1.0 - &s)))
    }
}

#[derive(Clone, Copy)]
pub(super) struct LeakyRelu(pub(super) f64);

impl Function for LeakyRelu {
    const SAVED: Saved = Saved::Input;
    const CHEAP: bool = true;

    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        if x > T::ZERO { x } else { x * T::of(self.0) }
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, x: T) -> T {
        if x > T::ZERO { T::ONE } else { T::of(self.0) }
    }

    fn recorded(self, g: &Tensor, x: &Tensor) -> Option<Tensor> {
        Some(x.gt(0.0).where_cond(g, g * self.0))
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
        // NaN has the derivative 1, as in PyTorch.
        if x <= T::ZERO {
            x.exp::<FUSED>() * T::of(self.0)
        } else {
            T::ONE
        }
    }

    fn recorded(self, g: &Tensor, x: &Tensor) -> Option<Tensor> {
        let negative = x.gt(0.0).where_cond(0.0, x);
        Some(x.gt(0.0).where_cond(g, g * negative.exp() * self.0))
    }
}
