//! Variances, standard deviations and norms.

use super::sums::{mean_as, sum_over};
use crate::error::OrRaise;
use crate::ops::arithmetic::{Arithmetic, arithmetic};
use crate::ops::check;
use crate::ops::elementwise::{root_of_squares, sqr_of};
use crate::tensor::{Axes, Raw, Tensor};
use candle_core::Result;

/// Returns the variances along dimensions, which are removed from the shape, with `n - 1` in the denominator.
///
/// # Panics
/// If there is no such dimension, or `x` has an integer type.
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[1.0, 3.0], [2.0, 2.0]], &cpu()); // (2, 2)
/// assert_eq!(x.var(1).to_vec1::<f32>(), [2.0, 0.0]);
/// ```
#[inline]
#[track_caller]
pub fn var(x: &Tensor, dims: impl Into<Axes>) -> Tensor {
    let dims = dims.into();
    variance("var", x.raw(), &dims).or_raise().into()
}

/// Returns the standard deviations along dimensions, which are removed from the shape, with `n - 1` in the
/// denominator. The gradient where one is 0 is 0.
///
/// # Panics
/// If there is no such dimension, or `x` has an integer type.
#[inline]
#[track_caller]
pub fn std(x: &Tensor, dims: impl Into<Axes>) -> Tensor {
    let dims = dims.into();
    let variance = variance("std", x.raw(), &dims);
    let root = variance.and_then(|variance| root_of_squares(&"std", &variance));
    root.or_raise().into()
}

/// Returns the Euclidean norms along dimensions, which are removed from the shape: the roots of the sums of
/// squares. The gradient where one is 0 is 0.
///
/// # Panics
/// If there is no such dimension, or `x` has an integer type.
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[3.0, 4.0], [0.0, 0.0]], &cpu()); // (2, 2)
/// assert_eq!(x.norm(1).to_vec1::<f32>(), [5.0, 0.0]);
/// ```
#[inline]
#[track_caller]
pub fn norm(x: &Tensor, dims: impl Into<Axes>) -> Tensor {
    let dims = dims.into();
    norms(x.raw(), &dims).or_raise().into()
}

fn norms(x: &Raw, dims: &Axes) -> Result<Raw> {
    check::floating(&"norm", x)?;
    let dims = dims.of(&"norm", x)?;
    in_single_if_half(x, |x| {
        root_of_squares(&"norm", &sum_over(&sqr_of(x)?, &dims, false, 1.0)?)
    })
}

fn variance(caller: &str, x: &Raw, dims: &Axes) -> Result<Raw> {
    check::floating(&caller, x)?;
    let dims = dims.of(&caller, x)?;
    let count = dims.iter().map(|dim| x.dims()[*dim]).product::<usize>();
    in_single_if_half(x, |x| {
        let mean = mean_as(&caller, x, &dims, true)?;
        let squares = sqr_of(&arithmetic(Arithmetic::Sub, x, &mean)?)?;
        sum_over(&squares, &dims, false, count as f64 - 1.0)
    })
}

fn in_single_if_half(x: &Raw, compute: impl FnOnce(&Raw) -> Result<Raw>) -> Result<Raw> {
    match check::is_half(x) {
        true => check::in_single([x], |[x]| compute(&x)),
        false => compute(x),
    }
}
