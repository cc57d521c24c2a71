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
    const SIGMOID: bool = true;

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
}

#[derive(Clone, Copy)]
pub(super) struct GeluTanh;

impl GeluTanh {
    /// `√(8 / π)`: `(1 + tanh(z)) / 2` is the sigmoid function of `2 z`.
    pub(super) const SLOPE: f64 = 1.595_769_121_605_730_8;
    pub(super) const CUBIC: f64 = 0.044715;

    /// Returns `x`, or the bound of a range outside of which the sigmoid function is 0 or 1.
    #[inline(always)]
    fn near<T: Element>(x: T) -> T {
        let x = if x > T::of(20.0) { T::of(20.0) } else { x };
        if x < T::of(-20.0) { T::of(-20.0) } else { x }
    }
}

impl Function for GeluTanh {
    const SAVED: Saved = Saved::Input;
    const TOGETHER: bool = true;

    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        self.both::<T, FUSED>(x).0
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, x: T) -> T {
        self.both::<T, FUSED>(x).1
    }

    #[inline(always)]
    fn both<T: Element, const FUSED: bool>(self, x: T) -> (T, T) {
        let (slope, near) = (T::of(Self::SLOPE), Self::near(x));
        let cubic = T::of(Self::CUBIC) * near * near;
        let s = Sigmoid.value::<T, FUSED>(slope * near * (T::ONE + cubic));
        let change = slope * (T::ONE + T::of(3.0) * cubic);
        (x * s, s + near * (s * (T::ONE - s)) * change)
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
    const CHEAP: bool = true;

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
            x.exp_m1::<FUSED>() * T::of(self.0)
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
}

#[derive(Clone, Copy)]
pub(super) struct Hardswish;

impl Function for Hardswish {
    const SAVED: Saved = Saved::Input;
    const CHEAP: bool = true;

    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        let between = x * (x * T::of(1.0 / 6.0) + T::of(0.5));
        let lower = if x <= T::of(-3.0) { T::ZERO } else { between };
        if x >= T::of(3.0) { x } else { lower }
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, x: T) -> T {
        let between = x * T::of(1.0 / 3.0) + T::of(0.5);
        let lower = if x <= T::of(-3.0) { T::ZERO } else { between };
        if x >= T::of(3.0) { T::ONE } else { lower }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Mish;

impl Function for Mish {
    const SAVED: Saved = Saved::Input;
    const TOGETHER: bool = true;

    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        let n = Self::squares::<T, FUSED>(x);
        x * (n / (n + T::of(2.0)))
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, x: T) -> T {
        self.both::<T, FUSED>(x).1
    }

    #[inline(always)]
    fn both<T: Element, const FUSED: bool>(self, x: T) -> (T, T) {
        let n = Self::squares::<T, FUSED>(x);
        let rest = T::of(2.0) / (n + T::of(2.0)); // 1 - tanh
        let tanh = n / (n + T::of(2.0));
        let slope = rest * (T::ONE + tanh) * Sigmoid.value::<T, FUSED>(x);
        // Times a large `x`, what is left of it would not be small.
        let slope = if x > T::of(20.0) { T::ZERO } else { slope };
        (x * tanh, tanh + x * slope)
    }
}

impl Mish {
    /// Returns `(1 + exp(x))² - 1`, of which the hyperbolic tangent of `log(1 + exp(x))` is `n / (n + 2)`. Beyond 20,
    /// where that is 1, the exponential is not needed and would overflow.
    #[inline(always)]
    fn squares<T: Element, const FUSED: bool>(x: T) -> T {
        let e = if x > T::of(20.0) { T::of(20.0) } else { x }.exp::<FUSED>();
        e * (e + T::of(2.0))
    }
}

#[derive(Clone, Copy)]
pub(super) struct Softplus {
    pub(super) beta: f64,
    pub(super) threshold: f64,
}

impl Function for Softplus {
    const SAVED: Saved = Saved::Input;

    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        let z = x * T::of(self.beta);
        let positive = if z <= T::ZERO { T::ZERO } else { z };
        let smooth = (positive + (-z.abs()).exp::<FUSED>().ln_1p::<FUSED>()) / T::of(self.beta);
        if z > T::of(self.threshold) { x } else { smooth }
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, x: T) -> T {
        let z = x * T::of(self.beta);
        let slope = Sigmoid.value::<T, FUSED>(z);
        if z > T::of(self.threshold) {
            T::ONE
        } else {
            slope
        }
    }
}
