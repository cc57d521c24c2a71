//! The functions, with their derivatives.

use super::map::{Function, Saved};
use crate::ops::engine::simd::Element;
use crate::tensor::Tensor;

/// Implements [`Function`], with the loops' constant `FUSED` as a parameter of the bodies.
macro_rules! function {
    ($($name:ident $(($field:ty))?: $saved:ident $($cheap:ident)?;
        $self:ident, $t:ident, $fused:ident, $x:ident => $value:expr;
        $from:ident => $derivative:expr;
        $g:ident, $kept:ident => $recorded:expr;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name $((pub(super) $field))?;

        impl Function for $name {
            const SAVED: Saved = Saved::$saved;
            $(const $cheap: bool = true;)?

            #[inline(always)]
            fn value<$t: Element, const $fused: bool>($self, $x: $t) -> $t {
                $value
            }

            #[inline(always)]
            fn derivative<$t: Element, const $fused: bool>($self, $from: $t) -> $t {
                $derivative
            }

            fn recorded(self, $g: &Tensor, $kept: &Tensor) -> Option<Tensor> {
                Some($recorded)
            }
        }
    )*};
}

function! {
    Exp: Output;
        self, T, FUSED, x => Element::exp::<FUSED>(x);
        y => y;
        g, y => g * y;
    Log: Input;
        self, T, FUSED, x => Element::ln::<FUSED>(x);
        x => T::ONE / x;
        g, x => g / x;
    Abs: Input CHEAP;
        self, T, FUSED, x => Element::abs(x);
        x => sign(x);
        g, x => g * x.sign();
    Sqr: Input CHEAP;
        self, T, FUSED, x => x * x;
        x => x + x;
        g, x => g * x * 2.0;
    Sqrt: Output CHEAP;
        self, T, FUSED, x => Element::sqrt(x);
        y => T::of(0.5) / y;
        g, y => g / y * 0.5;
    // The root of a sum of squares, whose gradient PyTorch defines as 0 at 0.
    Norm: Output CHEAP;
        self, T, FUSED, x => Element::sqrt(x);
        y => if y == T::ZERO { y } else { T::of(0.5) / y };
        g, y => {
            let zero = y.eq(0.0);
            zero.where_cond(0.0, g / zero.where_cond(1.0, y) * 0.5)
        };
    Recip: Output CHEAP;
        self, T, FUSED, x => T::ONE / x;
        y => -(y * y);
        g, y => -(g * y.sqr());
    Sin: Input;
        self, T, FUSED, x => Element::sin::<FUSED>(x);
        x => Element::cos::<FUSED>(x);
        g, x => g * x.cos();
    Cos: Input;
        self, T, FUSED, x => Element::cos::<FUSED>(x);
        x => -Element::sin::<FUSED>(x);
        g, x => -(g * x.sin());
    // For values so large that only the standard library's functions are exact.
    FarSin: Input;
        self, T, FUSED, x => T::of(x.to_f64().sin());
        x => T::of(x.to_f64().cos());
        g, x => g * x.cos();
    FarCos: Input;
        self, T, FUSED, x => T::of(x.to_f64().cos());
        x => -T::of(x.to_f64().sin());
        g, x => -(g * x.sin());
    Erf: Input;
        self, T, FUSED, x => Element::erf_and_slope::<FUSED>(x).0;
        x => Element::erf_and_slope::<FUSED>(x).1;
        g, x => g * (-x.sqr()).exp() * std::f64::consts::FRAC_2_SQRT_PI;
    Sign: Nothing CHEAP;
        self, T, FUSED, x => sign(x);
        _g => T::ZERO;
        g, _nothing => g.zeros_like();
    Floor: Nothing CHEAP;
        self, T, FUSED, x => Element::floor(x);
        _g => T::ZERO;
        g, _nothing => g.zeros_like();
    Ceil: Nothing CHEAP;
        self, T, FUSED, x => Element::ceil(x);
        _g => T::ZERO;
        g, _nothing => g.zeros_like();
    Round: Nothing CHEAP;
        self, T, FUSED, x => Element::round(x);
        _g => T::ZERO;
        g, _nothing => g.zeros_like();
}

#[inline(always)]
fn sign<T: Element>(x: T) -> T {
    let sign = if x < T::ZERO { -T::ONE } else { T::ZERO };
    if x > T::ZERO { T::ONE } else { sign }
}

/// Limits values to a range.
#[derive(Clone, Copy)]
pub(super) struct Clamp(pub(super) f64, pub(super) f64);

impl Function for Clamp {
    const SAVED: Saved = Saved::Input;
    const CHEAP: bool = true;

    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, x: T) -> T {
        let (low, high) = (T::of(self.0), T::of(self.1));
        let x = if x < low { low } else { x };
        if x > high { high } else { x }
    }

    #[inline(always)]
    fn derivative<T: Element, const FUSED: bool>(self, x: T) -> T {
        let inside = (x > T::of(self.0)) & (x < T::of(self.1));
        if inside { T::ONE } else { T::ZERO }
    }

    #[inline(always)]
    fn gradient<T: Element, const FUSED: bool>(self, gradient: T, x: T) -> T {
        let inside = (x > T::of(self.0)) & (x < T::of(self.1));
        if inside { gradient } else { T::ZERO }
    }

    fn recorded(self, g: &Tensor, x: &Tensor) -> Option<Tensor> {
        let above = x.gt(self.0).where_cond(g, 0.0);
        Some(x.lt(self.1).where_cond(above, 0.0))
    }
}
