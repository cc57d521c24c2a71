//! Softmax and its logarithm.

mod columns;

use super::check;
use super::engine::autograd::{Needs, Upstream, has_kernel, kernel, of_first, record};
use super::engine::read::read;
use super::engine::{Element, dispatch_dtype};
use crate::tensor::{Axis, Raw, Tensor};
use candle_core::{D, Result};
use std::fmt::Display;
use std::mem::MaybeUninit;
use taper_compute::lines::Lines;
use taper_compute::simd::multiversion;
use taper_compute::sums::{dot, largest, sum};
use taper_compute::write::{self, Parts};

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
    pub fn softmax(x: &Tensor, dim: impl Into<Axis>) => softmax_as(&"softmax", x.raw(), dim.into());

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
    pub fn log_softmax(x: &Tensor, dim: impl Into<Axis>) =>
        log_softmax_as(&"log_softmax", x.raw(), dim.into());
}

/// Computes [`softmax`]; errors begin with the name of the caller.
#[doc(hidden)]
pub fn softmax_as(caller: &dyn Display, x: &Raw, dim: Axis) -> Result<Raw> {
    along(caller, x, dim, false)
}

/// Computes [`log_softmax`]; errors begin with the name of the caller.
pub(super) fn log_softmax_as(caller: &dyn Display, x: &Raw, dim: Axis) -> Result<Raw> {
    along(caller, x, dim, true)
}

/// Computes the softmax along a dimension, or its logarithm. Moves the dimension to the end first, unless its lines
/// are computed side by side.
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
    let kernel = has_kernel(&[x]);
    if dim != last && !(kernel && Lines::along(x.dims(), dim).are_columns()) {
        let moved = x.transpose(dim, last)?;
        return along(caller, &moved, last.into(), log)?.transpose(dim, last);
    }
    match kernel {
        true => dispatch_dtype!(x, forward(x, dim, log)),
        false => softmax_with_candle(x, log),
    }
}

fn softmax_with_candle(x: &Raw, log: bool) -> Result<Raw> {
    let mut x = x.sub(&x.detach().max_keepdim(D::Minus1)?)?;
    if log {
        return x.sub(&x.exp()?.sum_keepdim(D::Minus1)?.log()?);
    }
    x = x.exp()?;
    x.div(&x.sum_keepdim(D::Minus1)?)
}

fn forward<T: Element>(x: &Raw, dim: usize, log: bool) -> Result<Raw> {
    let lines = Lines::along(x.dims(), dim);
    let y = read([x], |x| {
        lines.map(
            x,
            |[x], y| softmax_rows::<T>(x, lines.size, y, log),
            |[x]| columns::softmax(x, log),
        )
    })?;
    let backward = move |upstream: &Upstream<'_>| {
        let (g, y) = (upstream.gradient, upstream.output()?.raw());
        let of_x = read([g, y], |inputs| {
            lines.map(
                inputs,
                |[g, y], out| gradient_rows::<T>(g, y, lines.size, out, log),
                |[g, y]| columns::gradient(g, y, log),
            )
        })?;
        of_first(of_x, g.shape())
    };
    let recorded = move |upstream: &Upstream<'_>| {
        let (g, y) = (upstream.g(), upstream.output()?);
        let of_x = match log {
            true => g - y.exp() * g.sum_keepdim(dim),
            false => y * (g - (g * y).sum_keepdim(dim)),
        };
        Ok([Some(of_x.into()), None, None])
    };
    let needs = Needs {
        output: true,
        ..Needs::default()
    };
    record(&[x], y, x.shape(), || kernel(needs, backward, recorded))
}

multiversion! {
    fn softmax_rows<'a, T: Element>(x: &[T], count: usize, y: &'a mut [MaybeUninit<T>], log: bool) -> &'a mut [T] {
        let (x, mut rows) = (x[..y.len()].chunks_exact(count), Parts::new(y));
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

multiversion! {
    fn gradient_rows<'a, T: Element>(g: &[T], y: &[T], count: usize, out: &'a mut [MaybeUninit<T>], log: bool) -> &'a mut [T] {
        let inputs = g[..out.len()].chunks_exact(count).zip(y.chunks_exact(count));
        let mut rows = Parts::new(out);
        for (g, y) in inputs {
            let out = rows.next(count);
            rows.push(if log {
                let common = sum(g);
                write::by_index(out, |i| g[i] - y[i].exp::<FUSED>() * common)
            } else {
                let common = dot(g, y);
                write::by_index(out, |i| y[i] * (g[i] - common))
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
