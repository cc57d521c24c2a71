//! Softmax over the last dimension, and its logarithm.

use super::check;
use super::engine::autograd::{Backward, has_kernel, record};
use super::engine::simd::{Element, multiversion};
use super::engine::{CpuView, dispatch_dtype, dot, vec_by_chunks};
use candle_core::{D, Result, Tensor};
use std::fmt::Display;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The elements of one task, rounded to whole rows.
const CHUNK: usize = 1 << 13;

/// Returns `exp(x) / Σ exp(x)`, with the sum over the last dimension.
pub(crate) fn softmax(caller: &dyn Display, x: &Tensor) -> Result<Tensor> {
    if x.rank() == 0 {
        let expected = "Expected logits along the last dimension: (…, classes)";
        return Err(check::wrong_shape(caller, x, expected));
    }
    match has_kernel(&[x]) && x.elem_count() > 0 {
        true => dispatch_dtype!(x, forward(x)),
        false => softmax_with_candle(x),
    }
}

fn softmax_with_candle(x: &Tensor) -> Result<Tensor> {
    let x = x
        .broadcast_sub(&x.detach().max_keepdim(D::Minus1)?)?
        .exp()?;
    x.broadcast_div(&x.sum_keepdim(D::Minus1)?)
}

/// Returns the logarithm of softmax, with Candle's operations.
pub(super) fn log_softmax(x: &Tensor) -> Result<Tensor> {
    let x = x.broadcast_sub(&x.detach().max_keepdim(D::Minus1)?)?;
    x.broadcast_sub(&x.exp()?.sum_keepdim(D::Minus1)?.log()?)
}

fn forward<T: Element>(x: &Tensor) -> Result<Tensor> {
    let input = x.contiguous()?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    let count = row_length(x);
    // SAFETY: `softmax_row` initialises its row, and chunks are whole rows.
    let y = unsafe {
        vec_by_chunks(values.len(), chunk(count), |first, y| {
            let rows = values[first..].chunks_exact(count);
            for (x, y) in rows.zip(y.chunks_exact_mut(count)) {
                softmax_row(x, y);
            }
        })
    };
    drop(view);
    record(&[x], y, x.shape(), || Back::<T>(PhantomData))
}

fn row_length(x: &Tensor) -> usize {
    x.dims().last().copied().unwrap_or(1)
}

fn chunk(count: usize) -> usize {
    (CHUNK / count).max(1) * count
}

multiversion! {
    fn softmax_row<T: Element>(x: &[T], y: &mut [MaybeUninit<T>]) {
        softmax_in_place(y.write_copy_of_slice(x));
    }
}

/// Replaces logits by probabilities; returns the largest logit, and the sum of `exp(logit - largest)`.
#[inline(always)]
pub(super) fn softmax_in_place<T: Element>(row: &mut [T]) -> (T, T) {
    let mut largest = row[0];
    for x in row.iter() {
        largest = if *x > largest { *x } else { largest };
    }
    let mut sum = T::ZERO;
    for x in row.iter_mut() {
        *x = (*x - largest).exp();
        sum += *x;
    }
    let scale = T::ONE / sum;
    for x in row.iter_mut() {
        *x *= scale;
    }
    (largest, sum)
}

struct Back<T>(PhantomData<T>);

impl<T: Element> Backward for Back<T> {
    const NEEDS_OUTPUT: bool = true;

    fn backward(
        &self,
        output: Option<&Tensor>,
        gradient: &Tensor,
        _: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let Some(output) = output else {
            candle_core::bail!("softmax: the output was not saved");
        };
        let (g, y) = (CpuView::of(gradient)?, CpuView::of(output)?);
        let (g, y) = (g.as_slice::<T>()?, y.as_slice::<T>()?);
        let count = row_length(output);
        // SAFETY: `gradient_row` initialises its row, and chunks are whole rows.
        let of_x = unsafe {
            vec_by_chunks(g.len(), chunk(count), |first, out| {
                let rows = g[first..].chunks_exact(count);
                let rows = rows.zip(y[first..].chunks_exact(count));
                for ((g, y), out) in rows.zip(out.chunks_exact_mut(count)) {
                    gradient_row(g, y, out);
                }
            })
        };
        let of_x = Tensor::from_vec(of_x, gradient.shape(), gradient.device())?;
        Ok([Some(of_x), None, None])
    }
}

multiversion! {
    fn gradient_row<T: Element>(gradient: &[T], y: &[T], out: &mut [MaybeUninit<T>]) {
        let common = dot(gradient, y);
        for ((out, g), y) in out.iter_mut().zip(gradient).zip(y) {
            out.write(*y * (*g - common));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::{randn, tensor};
    use candle_core::Device;

    #[test]
    fn nan_stays_nan() {
        let x = tensor(&[f64::NAN], &Device::Cpu).unwrap();
        let y = softmax(&"softmax", &x).unwrap().to_vec1::<f32>().unwrap();
        assert!(y[0].is_nan());
    }

    #[test]
    fn a_wrong_shape_is_an_error() {
        let x = tensor(1.0, &Device::Cpu).unwrap();
        assert_eq!(
            softmax(&"softmax", &x).unwrap_err().to_string(),
            "softmax cannot take an input of shape []\n\
             Expected logits along the last dimension: (…, classes)"
        );
    }

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("softmax", 20, |case| {
            let shape = (case.between(1, 90), case.between(1, 800));
            let inputs = vec![case.input(randn(shape, &Device::Cpu))];
            let kernel = |x: &[Tensor]| softmax(&"softmax", &x[0]);
            let candle = |x: &[Tensor]| softmax_with_candle(&x[0]);
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}
