//! Softmax: scores made probabilities.

use super::engine::autograd::{Backward, fits, record};
use super::engine::simd::{Element, multiversion};
use super::engine::{Numbers, dot, for_type_of, make};
use candle_core::{Result, Tensor};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Numbers that one thread takes at a time, at least one row.
const PIECE: usize = 1 << 13;

/// The softmax over the last dimension; `None` where there is no kernel.
pub(crate) fn softmax(x: &Tensor) -> Result<Option<Tensor>> {
    if !fits(&[x]) || x.rank() == 0 || x.elem_count() == 0 {
        return Ok(None);
    }
    for_type_of!(x, forward(x)).map(Some)
}

fn forward<T: Element>(x: &Tensor) -> Result<Tensor> {
    let input = x.contiguous()?;
    let numbers = Numbers::of(&input)?;
    let from = numbers.slice::<T>()?;
    let count = last(x);
    // SAFETY: `one_row` writes its row, and pieces are whole rows.
    let y = unsafe {
        make(from.len(), piece(count), |first, y| {
            let rows = from[first..].chunks_exact(count);
            for (x, y) in rows.zip(y.chunks_exact_mut(count)) {
                one_row(x, y);
            }
        })
    };
    drop(numbers);
    record(&[x], y, x.shape(), || Back::<T>(PhantomData))
}

fn last(x: &Tensor) -> usize {
    x.dims().last().copied().unwrap_or(1)
}

fn piece(count: usize) -> usize {
    (PIECE / count).max(1) * count
}

multiversion! {
    fn one_row<T: Element>(x: &[T], y: &mut [MaybeUninit<T>]) {
        probabilities(y.write_copy_of_slice(x));
    }
}

/// Makes probabilities of scores; gives the largest score, and the sum by which it divided.
#[inline(always)]
pub(super) fn probabilities<T: Element>(row: &mut [T]) -> (T, T) {
    let mut most = row[0];
    for score in row.iter() {
        most = if *score > most { *score } else { most };
    }
    let mut sum = T::ZERO;
    for score in row.iter_mut() {
        *score = (*score - most).exponential();
        sum += *score;
    }
    let scale = T::ONE / sum;
    for score in row.iter_mut() {
        *score *= scale;
    }
    (most, sum)
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
            candle_core::bail!("the output was not kept");
        };
        let (g, y) = (Numbers::of(gradient)?, Numbers::of(output)?);
        let (g, y) = (g.slice::<T>()?, y.slice::<T>()?);
        let count = last(output);
        // SAFETY: `slopes` writes its row, and pieces are whole rows.
        let of_x = unsafe {
            make(g.len(), piece(count), |first, out| {
                let rows = g[first..].chunks_exact(count);
                let rows = rows.zip(y[first..].chunks_exact(count));
                for ((g, y), out) in rows.zip(out.chunks_exact_mut(count)) {
                    slopes(g, y, out);
                }
            })
        };
        let of_x = Tensor::from_vec(of_x, gradient.shape(), gradient.device())?;
        Ok([Some(of_x), None, None])
    }
}

multiversion! {
    fn slopes<T: Element>(gradient: &[T], y: &[T], out: &mut [MaybeUninit<T>]) {
        let common = dot(gradient, y);
        for ((out, g), y) in out.iter_mut().zip(gradient).zip(y) {
            out.write(*y * (*g - common));
        }
    }
}
