//! Sums and means along dimensions.

use crate::ops::arithmetic::{Arithmetic, arithmetic_number};
use crate::ops::check::{self, too_large};
use crate::ops::dispatch::run;
use crate::ops::engine::autograd::recorded_linear;
use crate::ops::engine::read::read;
use crate::ops::engine::{Element, dispatch_dtype};
use crate::tensor::{Axes, Raw, Tensor};
use candle_core::{DType, Result};
use std::fmt::Display;
use taper_compute::reduce::sums_along;

functions! {
    /// Returns the sums along dimensions, which are removed from the shape.
    ///
    /// Integers and masks are summed exactly, as `i64`. Sums of many floating-point numbers keep their digits,
    /// because the values are added in pairs.
    ///
    /// # Panics
    /// If there is no such dimension, or the sum of integers does not fit into 64 bits.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[1.0, 2.0], [3.0, 4.0]]); // (2, 2)
    /// assert_eq!(sum(&x, 0).to_vec1::<f32>(), [4.0, 6.0]);
    /// assert_eq!(sum(&x, (0, 1)).item(), 10.0);
    /// assert_eq!(x.gt(1.5).sum(1).to_vec1::<i64>(), [1, 2]);
    /// ```
    pub fn sum(x: &Tensor, dims: impl Into<Axes>) => summed(x.raw(), &dims.into(), false);

    /// Returns the sums along dimensions, which keep their places with the size 1. See [`sum`].
    pub fn sum_keepdim(x: &Tensor, dims: impl Into<Axes>) => summed(x.raw(), &dims.into(), true);

    /// Returns the sum of all elements. See [`sum`].
    pub fn sum_all(x: &Tensor) => summed(x.raw(), &(..).into(), false);

    /// Returns the means along dimensions, which are removed from the shape.
    ///
    /// The mean of a mask is the share of its ones, as `f32`.
    ///
    /// # Panics
    /// If there is no such dimension, or `x` is a tensor of integers.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[1.0, 2.0], [3.0, 4.0]]); // (2, 2)
    /// assert_eq!(mean(&x, 0).to_vec1::<f32>(), [2.0, 3.0]);
    /// assert_eq!(x.gt(1.5).mean_all().item(), 0.75);
    /// ```
    pub fn mean(x: &Tensor, dims: impl Into<Axes>) => averaged(x.raw(), &dims.into(), false);

    /// Returns the means along dimensions, which keep their places with the size 1. See [`mean`].
    pub fn mean_keepdim(x: &Tensor, dims: impl Into<Axes>) => averaged(x.raw(), &dims.into(), true);

    /// Returns the mean of all elements. See [`mean`].
    pub fn mean_all(x: &Tensor) => averaged(x.raw(), &(..).into(), false);
}

fn summed(x: &Raw, dims: &Axes, keepdim: bool) -> Result<Raw> {
    sum_as(&"sum", x, &dims.of(&"sum", x)?, keepdim)
}

fn averaged(x: &Raw, dims: &Axes, keepdim: bool) -> Result<Raw> {
    mean_as(&"mean", x, &dims.of(&"mean", x)?, keepdim)
}

/// Computes [`sum`] or [`sum_keepdim`] along sorted dimensions; errors begin with the name of the caller.
pub(crate) fn sum_as(caller: &dyn Display, x: &Raw, dims: &[usize], keepdim: bool) -> Result<Raw> {
    match x.dtype().is_int() {
        true => sum_of_integers(caller, x, dims, keepdim),
        false => sum_over(x, dims, keepdim, 1.0),
    }
}

/// Computes [`mean`] or [`mean_keepdim`] along sorted dimensions; errors begin with the name of the caller.
pub(crate) fn mean_as(caller: &dyn Display, x: &Raw, dims: &[usize], keepdim: bool) -> Result<Raw> {
    let count = dims.iter().map(|dim| x.dims()[*dim]).product::<usize>() as f64;
    if x.dtype() == DType::U8 {
        let sum = sum_of_integers(caller, x, dims, keepdim)?;
        return (sum.to_dtype(DType::F64)? / count)?.to_dtype(DType::F32);
    }
    check::floating(caller, x)?;
    sum_over(x, dims, keepdim, count)
}

fn sum_of_integers(caller: &dyn Display, x: &Raw, dims: &[usize], keepdim: bool) -> Result<Raw> {
    let x = x.to_dtype(DType::I64)?;
    let shape = reduced_shape(&x, dims, keepdim);
    if !x.device().is_cpu() {
        return x.sum_keepdim(dims)?.reshape(shape);
    }
    let mut order = (0..x.rank())
        .filter(|dim| !dims.contains(dim))
        .collect::<Vec<_>>();
    order.extend(dims);
    let values = x.permute(order)?.flatten_all()?.to_vec1::<i64>()?;
    let count = dims.iter().map(|dim| x.dims()[*dim]).product::<usize>();
    let lines = shape.iter().product::<usize>();
    let sum = |line: usize| {
        let mut values = values[line * count..][..count].iter();
        values.try_fold(0i64, |sum, value| sum.checked_add(*value))
    };
    let sums = (0..lines).map(sum).collect::<Option<Vec<_>>>();
    let sums = sums.ok_or_else(|| too_large(caller))?;
    Raw::from_vec(sums, shape, x.device())
}

/// Returns the shape of the result along sorted dimensions.
pub(super) fn reduced_shape(x: &Raw, dims: &[usize], keepdim: bool) -> Vec<usize> {
    let sizes = x.dims().iter().enumerate();
    sizes
        .filter(|(dim, _)| keepdim || !dims.contains(dim))
        .map(|(dim, size)| if dims.contains(&dim) { 1 } else { *size })
        .collect()
}

/// Returns the sums along dimensions, divided by a number.
pub(crate) fn sum_over(x: &Raw, dims: &[usize], keepdim: bool, divisor: f64) -> Result<Raw> {
    let shape = reduced_shape(x, dims, keepdim);
    if x.elem_count() == 0 {
        let zeros = Raw::zeros(shape, x.dtype(), x.device())?;
        return match divisor == 0.0 {
            true => zeros / 0.0,
            false => Ok(zeros),
        };
    }
    run(
        &[x],
        |x| dispatch_dtype!(x[0], forward(x[0], dims, shape.clone(), divisor)),
        |x| x[0].sum_keepdim(dims)?.reshape(&shape[..])? / divisor,
    )
}

fn forward<T: Element>(x: &Raw, dims: &[usize], shape: Vec<usize>, divisor: f64) -> Result<Raw> {
    // Where a view repeats one element along a dimension, its sum is a multiple.
    let (mut input, mut times) = (x.detach(), 1);
    for &dim in dims.iter().filter(|dim| x.stride()[**dim] == 0) {
        (input, times) = (input.narrow(dim, 0, 1)?, times * x.dims()[dim]);
    }
    let mut sums = read([&input], |[x]| sums_along::<T>(x, input.dims(), dims))?;
    if times as f64 != divisor {
        let (times, divisor) = (T::of(times as f64), T::of(divisor));
        sums.iter_mut()
            .for_each(|sum| *sum = *sum * times / divisor);
    }
    let sums = Raw::from_vec(sums, shape, x.device())?;
    Ok(recorded_linear(x, sums, || {
        let (kept, shape) = (reduced_shape(x, dims, true), x.dims().to_vec());
        // Returns a view, in which the gradients are not copied.
        move |g: &Raw| {
            let g = g.reshape(&kept[..])?;
            let of_x = match divisor {
                1.0 => g,
                divisor => arithmetic_number(Arithmetic::Div, &g, divisor.into(), false)?,
            };
            of_x.broadcast_as(&shape[..])
        }
    }))
}

#[cfg(test)]
mod tests;
