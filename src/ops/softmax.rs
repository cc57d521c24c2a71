//! Softmax and its logarithm.

mod columns;

use super::check;
use super::engine::autograd::{Backward, Downstream, Upstream, has_kernel, of_first, record};
use super::engine::simd::{Element, multiversion};
use super::engine::strided::in_order;
use super::engine::sums::{dot, largest, sum};
use super::engine::write::{self, Parts};
use super::engine::{CpuView, dispatch_dtype, whole_rows};
use crate::error::OrRaise;
use crate::tensor::{Axis, Raw, Tensor};
use candle_core::{D, Result};
use std::fmt::Display;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The elements of one task, rounded to whole rows.
const CHUNK: usize = 1 << 13;

functions! {
    /// Returns probabilities: `exp(x) / Σ exp(x)`, with the sum over the dimension `dim`.
    ///
    /// # Shapes
    /// Any; the output has the same shape. A scalar has the dimension 0.
    ///
    /// # Panics
    /// If there is no such dimension, or `x` is a tensor of integers.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[3.0, 3.0], [0.0, 3.0]]); // (2, 2)
    /// assert_eq!(softmax(&x, -1).to_vec2::<f32>()[0], [0.5, 0.5]);
    /// assert_eq!(softmax(&x, 0).i((0, 1)).item(), 0.5);
    /// ```
    pub fn softmax(x: &Tensor, dim: impl Into<Axis>) = softmax_over(x, dim.into());

    /// Returns the logarithm of [`softmax`], without the loss of digits that `softmax(…).log()` has for
    /// small probabilities.
    ///
    /// # Shapes
    /// Any; the output has the same shape. A scalar has the dimension 0.
    ///
    /// # Panics
    /// As for [`softmax`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[0.0, 200.0]]); // (1, 2)
    /// assert_eq!(log_softmax(&x, -1).to_vec2::<f32>(), [[-200.0, 0.0]]);
    /// ```
    pub fn log_softmax(x: &Tensor, dim: impl Into<Axis>) = log_softmax_over(x, dim.into());
}

#[track_caller]
fn softmax_over(x: &Tensor, dim: Axis) -> Tensor {
    softmax_as(&"softmax", x.raw(), dim).or_raise().into()
}

/// Computes [`softmax`]; errors begin with the name of the caller.
pub(crate) fn softmax_as(caller: &dyn Display, x: &Raw, dim: Axis) -> Result<Raw> {
    along(caller, x, dim, false)
}

#[track_caller]
fn log_softmax_over(x: &Tensor, dim: Axis) -> Tensor {
    log_softmax_as(&"log_softmax", x.raw(), dim)
        .or_raise()
        .into()
}

/// Computes [`log_softmax`]; errors begin with the name of the caller.
pub(super) fn log_softmax_as(caller: &dyn Display, x: &Raw, dim: Axis) -> Result<Raw> {
    along(caller, x, dim, true)
}

/// Computes the softmax along a dimension, or its logarithm. Moves the dimension to the end first, unless
/// [`columns`] can compute it.
fn along(caller: &dyn Display, x: &Raw, dim: Axis, log: bool) -> Result<Raw> {
    check::floating(caller, x)?;
    if x.rank() == 0 {
        return along(caller, &x.unsqueeze(0)?, dim, log)?.squeeze(0);
    }
    let dim = dim.of(caller, x)?;
    if x.elem_count() == 0 {
        return Ok(x.clone());
    }
    if check::is_half(x) {
        return check::in_single([x], |[x]| along(caller, &x, dim.into(), log));
    }
    let last = x.rank() - 1;
    if columns::has_columns(x, dim) {
        return columns::softmax(x, dim, log);
    }
    if dim != last {
        let moved = x.transpose(dim, last)?;
        return along(caller, &moved, last.into(), log)?.transpose(dim, last);
    }
    match has_kernel(&[x]) {
        true => dispatch_dtype!(x, forward(x, log)),
        false => softmax_with_candle(x, log),
    }
}

fn softmax_with_candle(x: &Raw, log: bool) -> Result<Raw> {
    let mut x = x.broadcast_sub(&x.detach().max_keepdim(D::Minus1)?)?;
    if log {
        return x.broadcast_sub(&x.exp()?.sum_keepdim(D::Minus1)?.log()?);
    }
    x = x.exp()?;
    x.broadcast_div(&x.sum_keepdim(D::Minus1)?)
}

fn forward<T: Element>(x: &Raw, log: bool) -> Result<Raw> {
    let input = in_order(x)?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    let count = row_length(x);
    let y = write::by_chunks(values.len(), whole_rows(CHUNK, count), |first, y| {
        softmax_rows(&values[first..], count, y, log)
    });
    drop(view);
    let element = PhantomData::<T>;
    record(&[x], y, x.shape(), || Back { log, element })
}

fn row_length(x: &Raw) -> usize {
    x.dims().last().copied().unwrap_or(1)
}

multiversion! {
    fn softmax_rows<'a, T: Element>(x: &[T], count: usize, y: &'a mut [MaybeUninit<T>], log: bool) -> &'a mut [T] {
        let (x, mut rows) = (x[..y.len()].chunks_exact(count), Parts::of(y));
        for x in x {
            let (y, largest, sum) = exponentials::<T, FUSED>(x, rows.next(count));
            if log {
                let shift = sum.ln::<FUSED>();
                for (y, x) in y.iter_mut().zip(x) {
                    *y = *x - largest - shift;
                }
            } else {
                let scale = T::ONE / sum;
                for y in y.iter_mut() {
                    *y *= scale;
                }
            }
            rows.push(y);
        }
        rows.finish()
    }
}

multiversion! {
    /// Returns the largest logit, and the logarithm of the sum of `exp(logit - largest)`: a logit minus
    /// both is a log-probability. The exponentials are written to the second slice, of the same length.
    pub(super) fn normalizer<T: Element>(x: &[T], scratch: &mut [MaybeUninit<T>]) -> [T; 2] {
        let (_, largest, sum) = exponentials::<T, FUSED>(x, scratch);
        [largest, sum.ln::<FUSED>()]
    }
}

/// Writes `exp(logit - largest)` to `y`; returns these values, the largest logit, and the sum of the
/// values.
#[inline(always)]
fn exponentials<'a, T: Element, const FUSED: bool>(
    x: &[T],
    y: &'a mut [MaybeUninit<T>],
) -> (&'a mut [T], T, T) {
    let largest = largest(x);
    let y = write::each(y, x.iter().map(|x| (*x - largest).exp::<FUSED>()));
    let sum = sum(y);
    (y, largest, sum)
}

/// Replaces logits with probabilities; returns the largest logit, and the sum of `exp(logit - largest)`.
#[inline(always)]
pub(super) fn softmax_in_place<T: Element, const FUSED: bool>(row: &mut [T]) -> (T, T) {
    let largest = largest(row);
    for x in row.iter_mut() {
        *x = (*x - largest).exp::<FUSED>();
    }
    let sum = sum(row);
    let scale = T::ONE / sum;
    for x in row.iter_mut() {
        *x *= scale;
    }
    (largest, sum)
}

struct Back<T> {
    /// Whether the output is the logarithm.
    log: bool,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn needs_output(&self) -> bool {
        true
    }

    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (gradient, output) = (upstream.gradient, upstream.output()?.raw());
        let (g, y) = (CpuView::of(gradient)?, CpuView::of(output)?);
        let (g, y) = (g.as_slice::<T>()?, y.as_slice::<T>()?);
        let count = row_length(output);
        let of_x = write::by_chunks(g.len(), whole_rows(CHUNK, count), |first, out| {
            gradient_rows(&g[first..], &y[first..], count, out, self.log)
        });
        of_first(of_x, gradient.shape())
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let of_x = columns::recorded_gradient(upstream.g(), upstream.output()?, -1, self.log);
        Ok([Some(of_x.into()), None, None])
    }
}

multiversion! {
    fn gradient_rows<'a, T: Element>(g: &[T], y: &[T], count: usize, out: &'a mut [MaybeUninit<T>], log: bool) -> &'a mut [T] {
        let inputs = g[..out.len()].chunks_exact(count).zip(y.chunks_exact(count));
        let mut rows = Parts::of(out);
        for (g, y) in inputs {
            let (row, out) = (g.iter().zip(y), rows.next(count));
            rows.push(if log {
                let common = sum(g);
                write::each(out, row.map(|(g, y)| *g - y.exp::<FUSED>() * common))
            } else {
                let common = dot(g, y);
                write::each(out, row.map(|(g, y)| *y * (*g - common)))
            });
        }
        rows.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::ops::testing::compare;
    use crate::tensor::{ones, randn, tensor, zeros};
    use candle_core::DType;

    #[test]
    fn nan_stays_nan() {
        let x = tensor(&[f64::NAN]);
        assert!(softmax(&x, 0).item().is_nan());
    }

    #[test]
    fn a_wrong_shape_is_an_error() {
        let x = tensor(1.0);
        assert_eq!(softmax(&x, -1).item(), 1.0);
        assert!(attempt(|| softmax(&x, 1)).is_err());
        let x = zeros((2, 3));
        let message = attempt(|| log_softmax(&x, 2)).unwrap_err().to_string();
        assert!(message.ends_with("Its dimensions are 0 to 1"), "{message}");
    }

    /// In 16 bits, or added one after the other, these sums would lose their digits.
    #[test]
    fn probabilities_sum_to_one() {
        for (count, dtype, tolerance) in [
            (4096, DType::BF16, 1e-2),
            (4096, DType::F16, 1e-2),
            (3_000_000, DType::F32, 1e-5),
        ] {
            let x = ones(count).to_dtype(dtype);
            let y = softmax(&x, 0);
            assert_eq!(y.dtype(), dtype);
            let sum = y.to_dtype(DType::F64).sum_all().item();
            assert!((sum - 1.0).abs() < tolerance, "{count} {dtype:?}: {sum}");
        }
    }

    #[test]
    fn an_empty_batch_stays_empty() {
        for shape in [(0, 3), (3, 0)] {
            let x = zeros(shape);
            assert_eq!(softmax(&x, 1).elem_count(), 0);
        }
    }

    #[test]
    fn the_kernels_agree_with_candle() {
        for (log, most) in [(false, 800), (true, 800), (false, 26), (true, 26)] {
            compare("softmax", 20, |case| {
                let shape = (case.between(1, 90), case.between(1, most));
                let inputs = vec![case.input(randn(shape))];
                let kernel = move |x: &[Raw]| along(&"softmax", &x[0], 1.into(), log);
                let candle = move |x: &[Raw]| softmax_with_candle(&x[0], log);
                Some((inputs, Box::new(kernel), Box::new(candle)))
            });
        }
    }

    #[test]
    fn the_kernels_of_other_dimensions_agree_with_the_last() {
        for log in [false, true] {
            compare("softmax along columns", 20, |case| {
                let shape = (
                    case.between(1, 3),
                    case.between(1, 600),
                    case.between(8, 70),
                );
                let inputs = vec![case.input(randn(shape))];
                let kernel = move |x: &[Raw]| along(&"softmax", &x[0], 1.into(), log);
                let last = move |x: &[Raw]| {
                    softmax_with_candle(&x[0].transpose(1, 2)?, log)?.transpose(1, 2)
                };
                Some((inputs, Box::new(kernel), Box::new(last)))
            });
        }
    }

    #[test]
    fn any_dimension_can_be_the_classes() {
        let x = randn((3, 4, 5));
        for dim in 0..3 {
            let sums = softmax(&x, dim).sum(dim).to_vec::<f32>();
            assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-6));
        }
    }
}
