//! The functions, with their derivatives.

use super::map::{Function, Saved};
use crate::ops::engine::simd::Element;

/// Implements [`Function`], with the loops' constant `FUSED` as a parameter of the bodies.
macro_rules! function {
    ($($name:ident $(($field:ty))?: $saved:ident;
        $self:ident, $t:ident, $fused:ident, $x:ident => $value:expr;
        $from:ident => $derivative:expr;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name $((pub(super) $field))?;

        impl Function for $name {
            const SAVED: Saved = Saved::$saved;

            #[inline(always)]
            fn value<$t: Element, const $fused: bool>($self, $x: $t) -> $t {
                $value
            }

            #[inline(always)]
            fn derivative<$t: Element, const $fused: bool>($self, $from: $t) -> $t {
                $derivative
            }
        }
    )*};
}

function! {
    Exp: Output;
        self, T, FUSED, x => Element::exp::<FUSED>(x);
        y => y;
    Log: Input;
        self, T, FUSED, x => Element::ln::<FUSED>(x);
        x => T::ONE / x;
    Abs: Input;
        self, T, FUSED, x => Element::abs(x);
        x => sign(x);
    Sqr: Input;
        self, T, FUSED, x => x * x;
        x => x + x;
    Sqrt: Output;
        self, T, FUSED, x => Element::sqrt(x);
        y => T::of(0.5) / y;
    // The root of a sum of squares, whose gradient PyTorch defines as 0 at 0.
    Norm: Output;
        self, T, FUSED, x => Element::sqrt(x);
        y => if y == T::ZERO { y } else { T::of(0.5) / y };
    Recip: Output;
        self, T, FUSED, x => T::ONE / x;
        y => -(y * y);
    Sin: Input;
        self, T, FUSED, x => Element::sin::<FUSED>(x);
        x => Element::cos::<FUSED>(x);
    Cos: Input;
        self, T, FUSED, x => Element::cos::<FUSED>(x);
        x => -Element::sin::<FUSED>(x);
    // For values so large that only the standard library's functions are exact.
    FarSin: Input;
        self, T, FUSED, x => T::of(x.to_f64().sin());
        x => T::of(x.to_f64().cos());
    FarCos: Input;
        self, T, FUSED, x => T::of(x.to_f64().cos());
        x => -T::of(x.to_f64().sin());
    Erf: Input;
        self, T, FUSED, x => Element::erf_and_slope::<FUSED>(x).0;
        x => Element::erf_and_slope::<FUSED>(x).1;
    Sign: Nothing;
        self, T, FUSED, x => sign(x);
        _g => T::ZERO;
    Floor: Nothing;
        self, T, FUSED, x => Element::floor(x);
        _g => T::ZERO;
    Ceil: Nothing;
        self, T, FUSED, x => Element::ceil(x);
        _g => T::ZERO;
    Round: Nothing;
        self, T, FUSED, x => Element::round(x);
        _g => T::ZERO;
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
}
