//! Functions of each element: powers and roots, exponentials, trigonometric functions, rounding.

mod functions;
mod map;

pub(super) use map::{Function, Saved, apply, by_operations, function};

use super::arithmetic::integers;
use super::engine::read::read;
use crate::error::OrRaise;
use crate::tensor::{Number, Raw, Tensor};
use candle_core::{DType, Result};
use functions::{Abs, Ceil, Clamp, Cos, FarCos, FarSin, Floor, Norm, Round, Sign, Sin, Sqr};
use std::fmt::Display;
use taper_compute::simd::FARTHEST;
use taper_compute::threads::map_chunks;

/// Defines public functions of floating-point numbers, each with its form for callers within the crate, from their
/// [formulas](function!).
macro_rules! define_functions {
    ($(
        $(#[$doc:meta])*
        $name:ident $name_as:ident($($arg:ident: $type:ty),*) = $function:ident { $($formula:tt)* }
    )*) => {
        $crate::ops::elementwise::function! { $($function($($arg: $type),*) { $($formula)* })* }
        $(
        $(#[$doc])*
        ///
        /// # Panics
        /// If `x` has an integer type.
        #[inline]
        #[track_caller]
        pub fn $name(x: &Tensor $(, $arg: $type)*) -> Tensor {
            $name_as(&stringify!($name), x.raw() $(, $arg)*).or_raise().into()
        }

        #[doc = concat!("Computes [`", stringify!($name), "`]; errors begin with the name of the caller.")]
        pub(crate) fn $name_as(caller: &dyn Display, x: &Raw $(, $arg: $type)*) -> Result<Raw> {
            apply(caller, x, $function { $($arg),* })
        }
        )*
    };
}
pub(super) use define_functions;

define_functions! {
    /// Returns `eˣ`.
    ///
    /// In `f32` the result is exact to 2 units in the last place; below 1.2e-38 it is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = exp(&tensor(&[0.0, 1.0])); // (2,)
    /// assert_eq!(y.to_vec1::<f32>(), [1.0, std::f32::consts::E]);
    /// ```
    exp exp_as() = Exp { Output; x => x.exp(); g, y => g * y; candle x => x.exp() }

    /// Returns the natural logarithm.
    ///
    /// In `f32` the result is exact to 2 units in the last place.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = log(&tensor(&[1.0, 0.0, -1.0])).to_vec1::<f32>();
    /// assert!(y[0] == 0.0 && y[1] == f32::NEG_INFINITY && y[2].is_nan());
    /// ```
    log log_as() = Log { Input; x => x.ln(); g, x => g * (Q::from(1.0) / x); candle x => x.log() }

    /// Returns the square root of each element; NaN for negative ones.
    sqrt sqrt_as() = Sqrt { Output CHEAP; x => x.sqrt(); g, y => g * (Q::from(0.5) / y); candle x => x.sqrt() }

    /// Returns `1 / x` for each element.
    recip recip_as() = Recip { Output CHEAP; x => Q::from(1.0) / x; g, y => g * -(y * y); candle x => x.recip() }

    /// Returns the error function of each element.
    erf erf_as() = Erf {
        Input;
        x => x.erf();
        g, x => g * ((-(x * x)).exp() * std::f64::consts::FRAC_2_SQRT_PI);
        candle x => x.erf()
    }
}

functions! {
    /// Returns the sine of each element, in radians.
    ///
    /// # Panics
    /// If `x` has an integer type.
    pub fn sin(x: &Tensor) => sin_of(x.raw());

    /// Returns the cosine of each element, in radians.
    ///
    /// # Panics
    /// If `x` has an integer type.
    pub fn cos(x: &Tensor) => cos_of(x.raw());

    /// Returns the absolute value of each element. The gradient at 0 is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(tensor(&[-2.0, 3.0]).abs().to_vec1::<f32>(), [2.0, 3.0]);
    /// ```
    ///
    /// # Panics
    /// If an integer has no absolute value: `i64::MIN`.
    pub fn abs(x: &Tensor) => abs_of(x.raw());

    /// Returns the square of each element.
    ///
    /// # Panics
    /// If the square of an integer does not fit into 64 bits.
    pub fn sqr(x: &Tensor) => sqr_of(x.raw());

    /// Returns −1, 0 or 1: the sign of each element. The gradient is 0.
    pub fn sign(x: &Tensor) => sign_of(x.raw());

    /// Returns the largest integer that is not above each element. The gradient is 0.
    pub fn floor(x: &Tensor) => floor_of(x.raw());

    /// Returns the smallest integer that is not below each element. The gradient is 0.
    pub fn ceil(x: &Tensor) => ceil_of(x.raw());

    /// Returns the nearest integer to each element; halves go to the even one, as in PyTorch. The gradient is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = tensor(&[0.5, 1.5, 2.5, -2.6]).round();
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 2.0, 2.0, -3.0]);
    /// ```
    pub fn round(x: &Tensor) => round_of(x.raw());

    /// Returns each element, but at least `low` and at most `high`; if `low` is above `high`, then `high`. NaN
    /// stays NaN. The gradient is 1 between `low` and `high`, and 0 at the bounds and beyond them.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = tensor(&[-2.0, 0.5, 3.0]).clamp(0, 1);
    /// assert_eq!(y.to_vec1::<f32>(), [0.0, 0.5, 1.0]);
    /// ```
    pub fn clamp(x: &Tensor, low: impl Into<Number>, high: impl Into<Number>) =>
        clamp_of(x.raw(), low.into(), high.into());
}

fn sin_of(x: &Raw) -> Result<Raw> {
    match is_far(x) {
        true => apply(&"sin", x, FarSin {}),
        false => apply(&"sin", x, Sin {}),
    }
}

fn cos_of(x: &Raw) -> Result<Raw> {
    match is_far(x) {
        true => apply(&"cos", x, FarCos {}),
        false => apply(&"cos", x, Cos {}),
    }
}

/// Returns whether there are values for which [`Float::sin`](taper_compute::simd::Float::sin) is not exact.
fn is_far(x: &Raw) -> bool {
    let far = |x: &Raw| -> Result<bool> {
        let beyond =
            |values: &[f32]| { values.iter() }.fold(false, |far, x| far | (x.abs() > FARTHEST));
        read([x], |[values]| {
            map_chunks(values, 1 << 15, beyond).contains(&true)
        })
    };
    match x.dtype() {
        DType::F64 => false,
        _ if !x.device().is_cpu() => false,
        dtype if !dtype.is_float() => false,
        DType::F32 => far(x).unwrap_or(false),
        _ => x
            .to_dtype(DType::F32)
            .and_then(|x| far(&x))
            .unwrap_or(false),
    }
}

fn abs_of(x: &Raw) -> Result<Raw> {
    match x.dtype().is_int() {
        true => integers::product(x, &sign_of(x)?)?.to_dtype(x.dtype()),
        false => apply(&"abs", x, Abs {}),
    }
}

pub(super) fn sqr_of(x: &Raw) -> Result<Raw> {
    match x.dtype().is_int() {
        true => integers::product(x, x),
        false => apply(&"sqr", x, Sqr {}),
    }
}

/// Returns the square root of sums of squares, with the gradient 0 at 0.
pub(super) fn root_of_squares(caller: &dyn Display, x: &Raw) -> Result<Raw> {
    apply(caller, x, Norm {})
}

fn sign_of(x: &Raw) -> Result<Raw> {
    match x.dtype() {
        DType::I64 => x.gt(0i64)?.to_dtype(DType::I64)? - x.lt(0i64)?.to_dtype(DType::I64)?,
        dtype if dtype.is_int() => x.ne(0u32)?.to_dtype(dtype),
        _ => apply(&"sign", x, Sign {}),
    }
}

fn floor_of(x: &Raw) -> Result<Raw> {
    rounded(&"floor", x, Floor {})
}

fn ceil_of(x: &Raw) -> Result<Raw> {
    rounded(&"ceil", x, Ceil {})
}

fn round_of(x: &Raw) -> Result<Raw> {
    rounded(&"round", x, Round {})
}

fn rounded(caller: &dyn Display, x: &Raw, function: impl Function) -> Result<Raw> {
    match x.dtype().is_int() {
        true => Ok(x.clone()),
        false => apply(caller, x, function),
    }
}

fn clamp_of(x: &Raw, low: Number, high: Number) -> Result<Raw> {
    if x.dtype().is_int() {
        return match (low, high) {
            (Number::Int(low), Number::Int(high)) => integers::clamp(x, low, high),
            _ => clamp_of(&x.to_dtype(DType::F32)?, low, high),
        };
    }
    let (low, high) = (low.to_f64(), high.to_f64());
    apply(&"clamp", x, Clamp { low, high })
}

#[cfg(test)]
mod tests;
