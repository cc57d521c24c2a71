//! The functions of two values, with their derivatives, and those of a value and a number.

use super::kernel::{Binary, Differentiable};
use crate::ops::elementwise::{Function, Saved};
use crate::ops::engine::simd::Element;

/// Implements [`Differentiable`]. `depends` and `passes` are its constants.
macro_rules! binary {
    ($($name:ident: $depends:expr, $passes:expr; $t:ident, $fused:ident, $g:ident, $a:ident, $b:ident =>
        $value:expr; $of_a:expr; $of_b:expr;)*) => {$(
        #[derive(Clone, Copy)]
        pub(in crate::ops) struct $name;

        impl Binary for $name {
            type Output<T: Element> = T;

            #[inline(always)]
            fn value<$t: Element, const $fused: bool>(self, $a: $t, $b: $t) -> $t {
                $value
            }
        }

        impl Differentiable for $name {
            const DEPENDS: [[bool; 2]; 2] = $depends;
            const PASSES: [bool; 2] = $passes;

            #[inline(always)]
            #[allow(unused_variables)]
            fn gradient<$t: Element, const $fused: bool, const SECOND: bool>(self, $g: $t, $a: $t, $b: $t) -> $t {
                if SECOND { $of_b } else { $of_a }
            }
        }
    )*};
}

const NEITHER: [bool; 2] = [false, false];
const BOTH: [bool; 2] = [true, true];

binary! {
    Add: [NEITHER, NEITHER], BOTH; T, FUSED, g, a, b => a + b; g; g;
    Sub: [NEITHER, NEITHER], [true, false]; T, FUSED, g, a, b => a - b; g; -g;
    Mul: [[false, true], [true, false]], NEITHER; T, FUSED, g, a, b => a * b; g * b; g * a;
    Div: [[false, true], BOTH], NEITHER; T, FUSED, g, a, b => a / b; g / b; -g * (a / b) / b;
    // As in PyTorch, equal values share the gradient, and both get it if one is NaN.
    Maximum: [BOTH, BOTH], NEITHER; T, FUSED, g, a, b => larger(a, b); share(g, a, b); share(g, b, a);
    Minimum: [BOTH, BOTH], NEITHER; T, FUSED, g, a, b => smaller(a, b); share(g, b, a); share(g, a, b);
    Pow: [BOTH, BOTH], NEITHER; T, FUSED, g, a, b => Element::pow::<FUSED>(a, b);
        if b == T::ZERO { T::ZERO } else { g * (b * Element::pow::<FUSED>(a, b - T::ONE)) };
        if (a == T::ZERO) & (b >= T::ZERO) {
            T::ZERO
        } else {
            g * (Element::pow::<FUSED>(a, b) * Element::ln::<FUSED>(a))
        };
}

#[inline(always)]
fn larger<T: Element>(a: T, b: T) -> T {
    if (a >= b) | a.is_nan() { a } else { b }
}

#[inline(always)]
fn smaller<T: Element>(a: T, b: T) -> T {
    if (a <= b) | a.is_nan() { a } else { b }
}

/// Returns the gradient of `a` in the maximum of `a` and `b`.
#[inline(always)]
fn share<T: Element>(g: T, a: T, b: T) -> T {
    let g = if a == b { g * T::of(0.5) } else { g };
    if a < b { T::ZERO } else { g }
}

/// Comparisons, whose values are 0 and 1.
macro_rules! comparisons {
    ($($name:ident $sign:tt;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name;

        impl Binary for $name {
            type Output<T: Element> = u8;

            #[inline(always)]
            fn value<T: Element, const FUSED: bool>(self, a: T, b: T) -> u8 {
                u8::from(a $sign b)
            }
        }
    )*};
}
comparisons! {
    Eq ==;
    Ne !=;
    Lt <;
    Le <=;
    Gt >;
    Ge >=;
}

/// Functions of an element and a number.
macro_rules! with_number {
    ($($name:ident: $saved:ident; $number:ident, $t:ident, $fused:ident, $x:ident => $value:expr;
        $g:ident, $from:ident => $gradient:expr;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name(pub(super) f64);

        impl Function for $name {
            const SAVED: Saved = Saved::$saved;

            #[inline(always)]
            #[allow(unused_variables)]
            fn value<$t: Element, const $fused: bool>(self, $x: $t) -> $t {
                let $number = $t::of(self.0);
                $value
            }

            #[inline(always)]
            fn derivative<$t: Element, const $fused: bool>(self, saved: $t) -> $t {
                self.gradient::<$t, $fused>($t::ONE, saved)
            }

            #[inline(always)]
            #[allow(unused_variables)]
            fn gradient<$t: Element, const $fused: bool>(self, $g: $t, $from: $t) -> $t {
                let $number = $t::of(self.0);
                $gradient
            }
        }
    )*};
}

with_number! {
    AddNumber: Identity; n, T, FUSED, x => x + n; g, x => g;
    SubNumber: Identity; n, T, FUSED, x => x - n; g, x => g;
    NumberSub: Nothing; n, T, FUSED, x => n - x; g, x => -g;
    MulNumber: Nothing; n, T, FUSED, x => x * n; g, x => g * n;
    DivNumber: Nothing; n, T, FUSED, x => x / n; g, x => g / n;
    NumberDiv: Input; n, T, FUSED, x => n / x; g, x => -g * (n / x) / x;
    MaximumNumber: Input; n, T, FUSED, x => larger(x, n); g, x => share(g, x, n);
    MinimumNumber: Input; n, T, FUSED, x => smaller(x, n); g, x => share(g, n, x);
    Cube: Input; n, T, FUSED, x => x * x * x; g, x => g * (n * (x * x));
    PowNumber: Input; n, T, FUSED, x => Element::pow::<FUSED>(x, n);
        g, x => g * (n * Element::pow::<FUSED>(x, n - T::ONE));
    NumberPow: Output; n, T, FUSED, x => Element::pow::<FUSED>(n, x);
        g, y => if (n == T::ZERO) & (y < T::of(f64::INFINITY)) {
            T::ZERO
        } else {
            g * (y * Element::ln::<FUSED>(n))
        };
}
