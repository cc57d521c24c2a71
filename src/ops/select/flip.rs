//! The elements in reverse order.

use super::CHUNK;
use crate::ops::engine::autograd::{Backward, Downstream, Upstream, has_kernel, of_first, record};
use crate::ops::engine::simd::{Element, multiversion};
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{CpuView, dispatch_dtype, vec_by_chunks, whole_rows};
use crate::ops::tape::foreign;
use crate::tensor::{Axes, Raw, Tensor};
use candle_core::Result;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

functions! {
    /// Returns the elements in reverse order along dimensions.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[1.0, 2.0], [3.0, 4.0]]); // (2, 2)
    /// assert_eq!(x.flip(0).to_vec2::<f32>(), [[3.0, 4.0], [1.0, 2.0]]);
    /// ```
    pub fn flip(x: &Tensor, dims: impl Into<Axes>) => flipped(x.raw(), &dims.into());
}

fn flipped(x: &Raw, dims: &Axes) -> Result<Raw> {
    let dims = dims.of(&"flip", x)?;
    match has_kernel(&[x]) && x.elem_count() > 0 && !dims.is_empty() {
        true => dispatch_dtype!(x, forward(x, &Rows::of(x.dims(), &dims))),
        false => foreign(&[&x.contiguous()?], &mut |x| x[0].flip(&dims)),
    }
}

fn forward<T: Element>(x: &Raw, rows: &Rows) -> Result<Raw> {
    let values = rows.flipped::<T>(x)?;
    record(&[x], values, x.shape(), || Back::<T> {
        rows: rows.clone(),
        element: PhantomData,
    })
}

/// The elements that are reversed together: short rows, too, have such blocks.
const BLOCK: usize = 8;

/// The rows that are copied or reversed as a whole: the last dimension that is reversed, or those after it.
#[derive(Clone)]
struct Rows {
    row: usize,
    is_reversed: bool,
    /// The sizes of the dimensions before, and whether they are reversed; adjacent ones are merged.
    outer: Vec<(usize, bool)>,
}

impl Rows {
    fn of(shape: &[usize], dims: &[usize]) -> Self {
        let last = dims.iter().max().map_or(0, |dim| dim + 1);
        let is_reversed = last == shape.len();
        let end = if is_reversed { last - 1 } else { last };
        let mut outer: Vec<(usize, bool)> = vec![];
        for (dim, size) in shape[..end].iter().enumerate() {
            let is_reversed = dims.contains(&dim);
            match outer.last_mut().filter(|last| last.1 == is_reversed) {
                Some(last) => last.0 *= size,
                None => outer.push((*size, is_reversed)),
            }
        }
        Rows {
            row: shape[end..].iter().product(),
            is_reversed,
            outer,
        }
    }

    fn flipped<T: Element>(&self, x: &Raw) -> Result<Vec<T>> {
        let input = in_order(x)?;
        let view = CpuView::of(&input)?;
        let (values, row) = (view.as_slice::<T>()?, self.row);
        // SAFETY: chunks are whole rows, and `write_rows` initialises each row.
        Ok(unsafe {
            vec_by_chunks(values.len(), whole_rows(CHUNK, row), |first, out| {
                write_rows(self, first / row, values, out);
            })
        })
    }

    /// Returns whether each row of the output is the row of the input at the same place.
    fn is_in_order(&self) -> bool {
        matches!(self.outer[..], [] | [(_, false)])
    }

    /// Returns the row of the input that is in this row of the output.
    fn origin(&self, mut row: usize) -> usize {
        let (mut origin, mut stride) = (0, 1);
        for &(size, is_reversed) in self.outer.iter().rev() {
            let at = row % size;
            origin += if is_reversed { size - 1 - at } else { at } * stride;
            (row, stride) = (row / size, stride * size);
        }
        origin
    }
}

struct Back<T> {
    rows: Rows,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn backward(&self, Upstream { gradient, .. }: &Upstream<'_>) -> Result<Downstream> {
        let of_x = self.rows.flipped::<T>(gradient)?;
        of_first(of_x, gradient.shape())
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let of_x = forward::<T>(upstream.gradient, &self.rows)?;
        Ok([Some(of_x), None, None])
    }
}

#[inline(always)]
fn reverse<T: Element>(values: &[T; BLOCK], out: &mut [MaybeUninit<T>; BLOCK]) {
    for i in 0..BLOCK {
        out[i].write(values[BLOCK - 1 - i]);
    }
}

multiversion! {
    cheap true;
    fn write_rows<T: Element>(rows: &Rows, first: usize, values: &[T], out: &mut [MaybeUninit<T>]) {
        // A call for each row would take longer than the row.
        let in_order = rows.is_in_order();
        for (i, out) in out.chunks_exact_mut(rows.row).enumerate() {
            let origin = if in_order { first + i } else { rows.origin(first + i) };
            let values = &values[origin * rows.row..][..rows.row];
            if !rows.is_reversed {
                out.write_copy_of_slice(values);
                continue;
            }
            let blocks = out.as_chunks_mut::<BLOCK>().0.iter_mut();
            let (rest, reversed) = values.as_rchunks::<BLOCK>();
            for (out, block) in blocks.zip(reversed.iter().rev()) {
                reverse(block, out);
            }
            match (values.first_chunk(), out.last_chunk_mut()) {
                _ if rest.is_empty() => {}
                // This block overlaps the one before: the rest one by one would take longer than the blocks.
                (Some(block), Some(out)) => reverse(block, out),
                _ => {
                    for (out, value) in out.iter_mut().zip(rest.iter().rev()) {
                        out.write(*value);
                    }
                }
            }
        }
    }
}
