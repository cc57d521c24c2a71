//! The parts at some indices of a dimension.

use super::{CHUNK, check_indices, positions};
use crate::error;
use crate::ops::engine::autograd::{
    Backward, Downstream, Recorded, Upstream, has_kernel, linear, of_first, record,
};
use crate::ops::engine::simd::Element;
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{CpuView, dispatch_dtype, vec_by_chunks, whole_rows};
use crate::tensor::{Axis, Raw, Tensor};
use candle_core::Result;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The largest number of parts into which the gradient is divided; each part is one task.
const PARTS: usize = 32;

functions! {
    /// Returns the parts at these indices of a dimension, in their order.
    ///
    /// # Panics
    /// If the indices are not one row of integers, or one is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[1.0, 2.0], [3.0, 4.0]]); // (2, 2)
    /// let y = x.index_select(&tensor(&[1, 1, 0]), 0); // (3, 2)
    /// assert_eq!(y.to_vec2::<f32>(), [[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]]);
    /// ```
    pub fn index_select(x: &Tensor, indices: &Tensor, dim: impl Into<Axis>) =>
        selected(x.raw(), indices.raw(), dim.into());
}

/// Computes [`index_select`].
pub(in crate::ops) fn selected(x: &Raw, indices: &Raw, dim: Axis) -> Result<Raw> {
    // As in PyTorch, a scalar is a vector with one element.
    if x.rank() == 0 && indices.elem_count() == 1 {
        return selected(&x.unsqueeze(0)?, indices, dim)?.squeeze(0);
    }
    if indices.rank() == 0 {
        return selected(x, &indices.unsqueeze(0)?, dim);
    }
    let dim = dim.of(&"index_select", x)?;
    check_indices("index_select", x, indices, dim)?;
    if indices.rank() != 1 {
        return Err(error::shape(
            "index_select",
            "indices with one dimension",
            indices.dims(),
            "Flatten them: indices.flatten_all()",
        )
        .into());
    }
    match has_kernel(&[x]) && x.elem_count() * indices.elem_count() > 0 {
        true => dispatch_dtype!(x, forward(x, &positions(indices)?, dim)),
        false => x.contiguous()?.index_select(&indices.contiguous()?, dim),
    }
}

fn forward<T: Element>(x: &Raw, positions: &Raw, dim: usize) -> Result<Raw> {
    let input = in_order(x)?;
    let indices = CpuView::of(positions)?;
    let indices = indices.as_slice::<i64>()?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    let mut shape = x.dims().to_vec();
    shape[dim] = indices.len();
    let (size, inner) = (x.dims()[dim], shape[dim + 1..].iter().product::<usize>());
    let count = shape.iter().product();
    // SAFETY: chunks are whole rows, and the loop initialises each row.
    let parts = unsafe {
        vec_by_chunks(count, whole_rows(CHUNK, inner), |first, out| {
            let mut row = first / inner;
            let end = row + out.len() / inner;
            while row < end {
                // The rows of the same outer index.
                let (outer, from) = (row / indices.len(), row % indices.len());
                let indices = &indices[from..indices.len().min(from + end - row)];
                let values = &values[outer * size * inner..(outer + 1) * size * inner];
                let out = &mut out[(row - first / inner) * inner..][..indices.len() * inner];
                copy_rows(values, indices, inner, out);
                row += indices.len();
            }
        })
    };
    drop(view);
    record(&[x], parts, shape, || Back::<T> {
        indices: positions.clone(),
        shape: x.dims().to_vec(),
        dim,
        element: PhantomData,
    })
}

fn copy_rows<T: Element>(values: &[T], indices: &[i64], inner: usize, out: &mut [MaybeUninit<T>]) {
    if inner == 1 {
        for (out, index) in out.iter_mut().zip(indices) {
            out.write(values[*index as usize]);
        }
        return;
    }
    for (out, index) in out.chunks_exact_mut(inner).zip(indices) {
        out.write_copy_of_slice(&values[*index as usize * inner..][..inner]);
    }
}

struct Back<T> {
    indices: Raw,
    shape: Vec<usize>,
    dim: usize,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn backward(&self, Upstream { gradient, .. }: Upstream<'_>) -> Result<Downstream> {
        let view = CpuView::of(gradient)?;
        let g = view.as_slice::<T>()?;
        let indices = CpuView::of(&self.indices)?;
        let (size, indices) = (self.shape[self.dim], indices.as_slice::<i64>()?);
        let inner = self.shape[self.dim + 1..].iter().product::<usize>();
        let count = self.shape.iter().product();
        // A task adds up the gradients of its own rows, in the order of the indices.
        let rows = match count == size * inner {
            true => size.div_ceil((g.len() / CHUNK).clamp(1, PARTS)),
            false => whole_rows(CHUNK, size * inner) / inner,
        };
        // SAFETY: `fill` initialises the whole chunk.
        let of_x = unsafe {
            vec_by_chunks(count, rows * inner, |first, out| {
                out.fill(MaybeUninit::new(T::ZERO));
                let out = out.assume_init_mut();
                let (first, rows) = (first / inner, out.len() / inner);
                for outer in first / size..(first + rows).div_ceil(size) {
                    let g = &g[outer * indices.len() * inner..][..indices.len() * inner];
                    let origin = (outer * size).wrapping_sub(first);
                    if inner == 1 {
                        for (g, index) in g.iter().zip(indices) {
                            if let Some(sum) = out.get_mut(origin.wrapping_add(*index as usize)) {
                                *sum += *g;
                            }
                        }
                        continue;
                    }
                    for (g, index) in g.chunks_exact(inner).zip(indices) {
                        let row = origin.wrapping_add(*index as usize);
                        if row < rows {
                            for (sum, g) in out[row * inner..][..inner].iter_mut().zip(g) {
                                *sum += *g;
                            }
                        }
                    }
                }
            })
        };
        of_first(of_x, &self.shape[..])
    }

    fn recorded(&self, upstream: &Recorded<'_>) -> Result<Downstream> {
        let (indices, dim) = (self.indices.clone(), self.dim);
        linear(self, upstream, move |x| forward::<T>(x, &indices, dim))
    }
}
