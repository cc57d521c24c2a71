//! Variances, standard deviations and norms.

use super::sums::{mean_as, reduced_shape, sum_over};
use crate::ops::arithmetic::{Arithmetic, arithmetic};
use crate::ops::check;
use crate::ops::elementwise::{root_of_squares, sqr_of};
use crate::ops::engine::autograd::{are_tracked, has_kernel};
use crate::ops::engine::read::read;
use crate::ops::engine::{Element, dispatch_dtype};
use crate::tensor::{Axes, Raw, Tensor};
use candle_core::Result;
use taper_compute::reduce::squares_along;

functions! {
    /// Returns the variances along dimensions, which are removed from the shape, with `n - 1` in the denominator.
    ///
    /// # Panics
    /// If there is no such dimension, or `x` has an integer type.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[1.0, 3.0], [2.0, 2.0]]); // (2, 2)
    /// assert_eq!(x.var(1).to_vec1::<f32>(), [2.0, 0.0]);
    /// ```
    pub fn var(x: &Tensor, dims: impl Into<Axes>) => variance("var", x.raw(), &dims.into(), 1.0);

    /// Returns the standard deviations along dimensions, which are removed from the shape, with `n - 1` in the
    /// denominator. The gradient where one is 0 is 0.
    ///
    /// # Panics
    /// If there is no such dimension, or `x` has an integer type.
    pub fn std(x: &Tensor, dims: impl Into<Axes>) => deviation(x.raw(), &dims.into(), 1.0);

    /// Returns the Euclidean norms along dimensions, which are removed from the shape: the roots of the sums of
    /// squares. The gradient where one is 0 is 0.
    ///
    /// # Panics
    /// If there is no such dimension, or `x` has an integer type.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[3.0, 4.0], [0.0, 0.0]]); // (2, 2)
    /// assert_eq!(x.norm(1).to_vec1::<f32>(), [5.0, 0.0]);
    /// ```
    pub fn norm(x: &Tensor, dims: impl Into<Axes>) => norms(x.raw(), &dims.into());
}

pub(super) fn deviation(x: &Raw, dims: &Axes, correction: f64) -> Result<Raw> {
    root_of_squares(&"std", &variance("std", x, dims, correction)?)
}

fn norms(x: &Raw, dims: &Axes) -> Result<Raw> {
    check::floating(&"norm", x)?;
    let dims = dims.of(&"norm", x)?;
    let in_one_pass = |x: &Raw| has_kernel(&[x]) && !are_tracked(&[x]) && x.elem_count() > 0;
    in_single_if_half(x, |x| match in_one_pass(x) {
        true => dispatch_dtype!(x, norms_in_one_pass(x, &dims)),
        false => root_of_squares(&"norm", &sum_over(&sqr_of(x)?, &dims, false, 1.0)?),
    })
}

/// Returns the norms without a graph. The squares are not stored.
fn norms_in_one_pass<T: Element>(x: &Raw, dims: &[usize]) -> Result<Raw> {
    let squares = read([x], |[values]| squares_along::<T>(values, x.dims(), dims))?;
    let norms = squares.into_iter().map(T::sqrt).collect::<Vec<T>>();
    Raw::from_vec(norms, reduced_shape(x, dims, false), x.device())
}

pub(super) fn variance(caller: &str, x: &Raw, dims: &Axes, correction: f64) -> Result<Raw> {
    check::floating(&caller, x)?;
    let dims = dims.of(&caller, x)?;
    let count = dims.iter().map(|dim| x.dims()[*dim]).product::<usize>();
    in_single_if_half(x, |x| {
        let mean = mean_as(&caller, x, &dims, true)?;
        let squares = sqr_of(&arithmetic(Arithmetic::Sub, x, &mean)?)?;
        sum_over(&squares, &dims, false, (count as f64 - correction).max(0.0))
    })
}

fn in_single_if_half(x: &Raw, compute: impl FnOnce(&Raw) -> Result<Raw>) -> Result<Raw> {
    match check::is_half(x) {
        true => check::in_single([x], |[x]| compute(&x)),
        false => compute(x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::variable;
    use crate::tensor::{no_grad, randn};
    use candle_core::DType;

    /// Against the roots of the sums in `f64`.
    #[test]
    fn norms_are_the_same_with_and_without_a_graph() {
        let x = variable(&randn((7, 600, 3)));
        let wide = x.detach().to_dtype(DType::F64);
        for dims in [&[0_usize][..], &[1], &[2], &[0, 2], &[0, 1, 2], &[]] {
            let want = wide.sqr().sum(dims).sqrt().to_vec::<f64>();
            for got in [norm(&x, dims), no_grad(|| norm(&x, dims))] {
                for (got, want) in got.to_vec::<f32>().iter().zip(&want) {
                    let off = (f64::from(*got) - want).abs();
                    assert!(off <= 1e-6 * want, "{dims:?}: {got} is not {want}");
                }
            }
        }
    }
}
