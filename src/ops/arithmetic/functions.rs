//! The functions of two values, with their derivatives, and those of a value and a number.

use super::kernel::{Binary, Differentiable};
use crate::ops::elementwise::{Function, Saved};
use crate::ops::engine::simd::Element;
use crate::tensor::{Operand, Tensor};

/// Implements [`Differentiable`]. `depends` and `passes` are its constants.
macro_rules! binary {
    ($($name:ident $($cheap:ident)?: $depends:expr, $passes:expr; $t:ident, $fused:ident, $g:ident, $a:ident, $b:ident =>
        $value:expr; $of_a:expr; $of_b:expr; recorded: $first:expr; $second:expr;)*) => {$(
        #[derive(Clone, Copy)]
        pub(in crate::ops) struct $name;

        impl Binary for $name {
            type Output<T: Element> = T;
            $(const $cheap: bool = true;)?

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

            #[allow(unused_variables)]
            fn recorded(self, second: bool, $g: &Tensor, $a: &Tensor, $b: &Tensor) -> Tensor {
                if second { $second } else { $first }
            }
        }
    )*};
}

const NEITHER: [bool; 2] = [false, false];
const BOTH: [bool; 2] = [true, true];

binary! {
    Add CHEAP: [NEITHER, NEITHER], BOTH; T, FUSED, g, a, b => a + b; g; g;
        recorded: g.clone(); g.clone();
    Sub CHEAP: [NEITHER, NEITHER], [true, false]; T, FUSED, g, a, b => a - b; g; -g;
        recorded: g.clone(); -g;
    Mul CHEAP: [[false, true], [true, false]], NEITHER; T, FUSED, g, a, b => a * b; g * b; g * a;
        recorded: g * b; g * a;
    Div CHEAP: [[false, true], BOTH], NEITHER; T, FUSED, g, a, b => a / b; g / b; -g * (a / b) / b;
        recorded: g / b; -(g * (a / b) / b);
    // As in PyTorch, equal values share the gradient, and both get it if one is NaN.
    Maximum CHEAP: [BOTH, BOTH], NEITHER; T, FUSED, g, a, b => larger(a, b); share(g, a, b); share(g, b, a);
        recorded: shared(g, a, b); shared(g, b, a);
    Minimum CHEAP: [BOTH, BOTH], NEITHER; T, FUSED, g, a, b => smaller(a, b); share(g, b, a); share(g, a, b);
        recorded: shared(g, &-a, -b); shared(g, &-b, -a);
    Pow: [BOTH, BOTH], NEITHER; T, FUSED, g, a, b => Element::pow::<FUSED>(a, b);
        if b == T::ZERO { T::ZERO } else { g * (b * Element::pow::<FUSED>(a, b - T::ONE)) };
        if (a == T::ZERO) & (b >= T::ZERO) {
            T::ZERO
        } else {
            g * (Element::pow::<FUSED>(a, b) * Element::ln::<FUSED>(a))
        };
        recorded: {
            let constant = b.eq(0.0);
            constant.where_cond(0.0, g * (b * a.pow(constant.where_cond(1.0, b) - 1.0)))
        };
        {
            // Neither the logarithm nor its derivatives may be infinite where the gradient is 0.
            let zero = a.eq(0.0) * b.ge(0.0);
            zero.where_cond(0.0, g * (a.pow(b) * zero.where_cond(1.0, a).log()))
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

/// Does what [`share`] does, with recorded operations.
fn shared(g: &Tensor, a: &Tensor, b: impl Into<Operand>) -> Tensor {
    let b = b.into();
    let share = a.eq(b.clone()).where_cond(g * 0.5, g);
    a.lt(b).where_cond(0.0, share)
}

/// The remainder of a division, with the sign of the divisor.
#[derive(Clone, Copy)]
pub(super) struct Remainder;

impl Binary for Remainder {
    type Output<T: Element> = T;

    #[inline(always)]
    fn value<T: Element, const FUSED: bool>(self, a: T, b: T) -> T {
        let (a, b) = (a.to_f64(), b.to_f64());
        let rest = a % b;
        T::of(if rest != 0.0 && (rest < 0.0) != (b < 0.0) {
            rest + b
        } else {
            rest
        })
    }
}

/// Comparisons, whose values are 0 and 1.
macro_rules! comparisons {
    ($($name:ident $sign:tt;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name;

        impl Binary for $name {
            type Output<T: Element> = u8;
            const CHEAP: bool = true;

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
    ($($name:ident: $saved:ident $($cheap:ident)?; $number:ident, $t:ident, $fused:ident, $x:ident => $value:expr;
        $g:ident, $from:ident => $gradient:expr; $recorded:expr;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name(pub(super) f64);

        impl Function for $name {
            const SAVED: Saved = Saved::$saved;
            $(const $cheap: bool = true;)?

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

            #[allow(unused_variables)]
            fn recorded(self, $g: &Tensor, $from: &Tensor) -> Option<Tensor> {
                let $number = self.0;
                Some($recorded)
            }
        }
    )*};
}

with_number! {
    AddNumber: Identity CHEAP; n, T, FUSED, x => x + n; g, x => g; g.clone();
    SubNumber: Identity CHEAP; n, T, FUSED, x => x - n; g, x => g; g.clone();
    NumberSub: Nothing CHEAP; n, T, FUSED, x => n - x; g, x => -g; -g;
    MulNumber: Nothing CHEAP; n, T, FUSED, x => x * n; g, x => g * n; g * n;
    DivNumber: Nothing CHEAP; n, T, FUSED, x => x / n; g, x => g / n; g / n;
    NumberDiv: Input CHEAP; n, T, FUSED, x => n / x; g, x => -g * (n / x) / x; -(g * (n / x) / x);
    MaximumNumber: Input CHEAP; n, T, FUSED, x => larger(x, n); g, x => share(g, x, n); shared(g, x, n);
    MinimumNumber: Input CHEAP; n, T, FUSED, x => smaller(x, n); g, x => share(g, n, x); shared(g, &-x, -n);
    One: Nothing CHEAP; n, T, FUSED, x => T::ONE; g, x => T::ZERO; g.zeros_like();
    Cube: Input CHEAP; n, T, FUSED, x => x * x * x; g, x => g * (n * (x * x)); g * x.sqr() * n;
    PowNumber: Input; n, T, FUSED, x => Element::pow::<FUSED>(x, n);
        g, x => g * (n * Element::pow::<FUSED>(x, n - T::ONE)); g * x.powf(n - 1.0) * n;
    NumberPow: Output; n, T, FUSED, x => Element::pow::<FUSED>(n, x);
        g, y => if (n == T::ZERO) & (y < T::of(f64::INFINITY)) {
            T::ZERO
        } else {
            g * (y * Element::ln::<FUSED>(n))
        };
        if n == 0.0 { g * y * 0.0 } else { g * y * n.ln() };
}
