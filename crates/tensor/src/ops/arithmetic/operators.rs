//! The table of the operations on two values. Each row says what the operation is on other devices, for integers, and by
//! which formulas the kernel computes the values and the gradients.

use super::candle::{larger, pow, remainder, smaller};
use super::kernel::{Differentiable, binary, forward, recorded_values};
use crate::ops::broadcast::broadcast_shape;
use crate::ops::check;
use crate::ops::elementwise::{Function, Saved, apply, by_operations, function};
use crate::ops::engine::dispatch_dtype;
use crate::ops::quantity::Quantity;
use crate::tensor::{Candle, Raw};
use candle_core::Result;

/// Defines the operations on two values.
macro_rules! operators {
    ($($name:ident $sign:literal { $candle:expr; $integers:expr; $($formulas:tt)* })*) => {
        /// An operation on two values.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) enum Arithmetic { $($name),* }

        impl Arithmetic {
            pub(super) fn name(self) -> &'static str {
                match self { $(Self::$name => $sign),* }
            }

            /// Returns Candle's operation on two tensors of one shape.
            pub(super) fn of_candle(self) -> fn(&Candle, &Candle) -> Result<Candle> {
                match self { $(Self::$name => $candle),* }
            }

            /// Computes with Candle, for other devices, 16 bits and integers: with tensors of one type, which are broadcast.
            pub(in crate::ops) fn with_candle(self, a: &Raw, b: &Raw) -> Result<Raw> {
                let shape = broadcast_shape(self.name(), a, b)?;
                let of = |x: &Raw| x.values().broadcast_as(&shape[..]);
                let values = (self.of_candle())(&of(a)?, &of(b)?)?;
                Ok(match self { $(Self::$name => recorded_values(values, [a, b], $name {})),* })
            }

            /// Returns the exact results for pairs of integers, unless one does not fit.
            pub(super) fn of_integers(self, a: &[i64], b: &[i64]) -> Option<Vec<i64>> {
                match self { $(Self::$name => each_pair(a, b, $integers)),* }
            }

            /// Computes with two tensors that are broadcast to a shape, by the kernel.
            pub(super) fn on_cpu(self, a: &Raw, b: &Raw, shape: &[usize]) -> Result<Raw> {
                match self { $(Self::$name => dispatch_dtype!(a, forward(a, b, shape, $name {}))),* }
            }

            /// Computes with a tensor and a number, or, with `swapped`, with a number and a tensor.
            pub(super) fn with_number(self, x: &Raw, n: f64, swapped: bool) -> Result<Raw> {
                match (self, swapped) {
                    $((Self::$name, false) => map(self, x, WithNumber::<_, false>(self, $name {}, n)),)*
                    $((Self::$name, true) => map(self, x, WithNumber::<_, true>(self, $name {}, n)),)*
                }
            }
        }

        binary! { $($name { $($formulas)* })* }
    };
}

/// Is compiled for each operation: a call for each element would take longer than the operation.
fn each_pair(a: &[i64], b: &[i64], compute: impl Fn(i64, i64) -> Option<i64>) -> Option<Vec<i64>> {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| compute(*a, *b)).collect()
}

const NEITHER: [bool; 2] = [false, false];
const BOTH: [bool; 2] = [true, true];

operators! {
    Add "+" {
        Candle::add; i64::checked_add;
        cheap true depends [NEITHER, NEITHER] passes BOTH; g, a, b => a + b; g; g
    }
    Sub "-" {
        Candle::sub; i64::checked_sub;
        cheap true depends [NEITHER, NEITHER] passes [true, false]; g, a, b => a - b; g; -g
    }
    Mul "*" {
        Candle::mul; i64::checked_mul;
        cheap true depends [[false, true], [true, false]] passes NEITHER; g, a, b => a * b; g * b; g * a
    }
    // Integers are divided as floating-point numbers.
    Div "/" {
        Candle::div; |_, _| None;
        cheap true depends [[false, true], BOTH] passes NEITHER; g, a, b => a / b; g / b; -g * (a / b) / b
    }
    // The remainder has the sign of the divisor, as in Python and PyTorch.
    Rem "%" {
        remainder; remainder_of_integers;
        cheap false depends [NEITHER, BOTH] passes [true, false];
        g, a, b => a.remainder(b); g; -g * (a / b).floor()
    }
    Maximum "maximum" {
        larger; |a, b| Some(a.max(b));
        cheap true; g, a, b => a.larger(b); share(g, a, b); share(g, b, a)
    }
    Minimum "minimum" {
        smaller; |a, b| Some(a.min(b));
        cheap true; g, a, b => a.smaller(b); share(g, b, a); share(g, a, b)
    }
    // Where a gradient is 0, neither a logarithm nor a derivative of the gradient may be infinite.
    Pow "pow" {
        pow; power;
        cheap false; g, a, b => a.pow(b);
        {
            let constant = b.eq(0.0);
            let exponent = Q::select(constant, 1.0, b) - 1.0;
            Q::select(constant, 0.0, g * (b * a.pow(exponent)))
        };
        {
            let zero = a.eq(0.0) & b.ge(0.0);
            Q::select(zero, 0.0, g * (a.pow(b) * Q::select(zero, 1.0, a).ln()))
        }
    }
}

/// Returns the gradient of `a` in the maximum of `a` and `b`. As in PyTorch, equal values share the gradient, and both get
/// it if one is NaN.
#[inline(always)]
fn share<Q: Quantity>(g: Q, a: Q, b: Q) -> Q {
    let share = Q::select(a.eq(b), g * 0.5, g);
    Q::select(a.lt(b), 0.0, share)
}

/// Computes with an element and a number. A GPU computes with 16 bits.
pub(super) fn map(op: Arithmetic, x: &Raw, function: impl Function) -> Result<Raw> {
    match check::is_half(x) && !x.device().is_cpu() && op != Arithmetic::Rem {
        true => by_operations(x, function),
        false => apply(&op.name(), x, function),
    }
}

/// An operation on an element and a number or, if `SWAPPED`, on a number and an element.
#[derive(Clone, Copy)]
struct WithNumber<F, const SWAPPED: bool>(Arithmetic, F, f64);

impl<F: Differentiable, const SWAPPED: bool> Function for WithNumber<F, SWAPPED> {
    const SAVED: Saved = match (
        F::PASSES[SWAPPED as usize],
        F::DEPENDS[SWAPPED as usize][SWAPPED as usize],
    ) {
        (true, _) => Saved::Identity,
        (false, true) => Saved::Input,
        (false, false) => Saved::Nothing,
    };
    const CHEAP: bool = F::CHEAP;

    #[inline(always)]
    fn value<Q: Quantity>(self, x: Q) -> Q {
        let n = Q::from(self.2);
        let (a, b) = if SWAPPED { (n, x) } else { (x, n) };
        self.1.value(a, b)
    }

    #[inline(always)]
    fn gradient<Q: Quantity>(self, g: Q, x: Q) -> Q {
        let n = Q::from(self.2);
        let (a, b) = if SWAPPED { (n, x) } else { (x, n) };
        self.1.gradient::<Q, SWAPPED>(g, a, b)
    }

    fn with_candle(self, x: &Candle) -> Option<Result<Candle>> {
        Some(number_with_candle(self.0, x, self.2, SWAPPED))
    }
}

function! {
    NumberPow(n: f64) {
        Output;
        x => Q::from(n).pow(x);
        // A power of 0 is 0 or 1 and does not change, or it is infinite.
        g, y => match n == 0.0 {
            true => g * (y * Q::select(y.lt(f64::INFINITY), 0.0, -f64::INFINITY)),
            false => g * (y * Q::from(n).ln()),
        };
        candle x => number_with_candle(Arithmetic::Pow, x, n, true)
    }
    One { Nothing CHEAP; _x => Q::from(1.0); _g, _none => Q::from(0.0) }
    Cube { Input CHEAP; x => x * x * x; g, x => g * (x * x * 3.0) }
}

/// Returns the remainder for a divisor that is not 0.
fn remainder_of_integers(a: i64, b: i64) -> Option<i64> {
    let rest = a.wrapping_rem(b);
    let is_other = rest != 0 && (rest < 0) != (b < 0);
    Some(if is_other { rest + b } else { rest })
}

/// Returns the exact power of integers, unless it does not fit.
fn power(base: i64, exponent: i64) -> Option<i64> {
    match base {
        0 | 1 if exponent > 0 => Some(base),
        -1 => Some(1 - 2 * (exponent & 1)),
        _ => base.checked_pow(u32::try_from(exponent).ok()?),
    }
}

fn number_with_candle(op: Arithmetic, x: &Candle, n: f64, swapped: bool) -> Result<Candle> {
    match (op, swapped) {
        (Arithmetic::Add, _) => x.affine(1.0, n),
        (Arithmetic::Sub, false) => x.affine(1.0, -n),
        (Arithmetic::Sub, true) => x.affine(-1.0, n),
        (Arithmetic::Mul, _) => x.affine(n, 0.0),
        (Arithmetic::Pow, false) => x.powf(n),
        _ => {
            let number = Candle::full(n, (), x.device())?.to_dtype(x.dtype())?;
            let number = number.broadcast_as(x.shape())?;
            let (a, b) = if swapped { (&number, x) } else { (x, &number) };
            (op.of_candle())(a, b)
        }
    }
}
