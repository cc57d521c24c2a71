//! The parts at some indices of a dimension.

use super::{CHUNK, check_indices, positions};
use crate::error;
use crate::ops::check::{self, in_single, is_half};
use crate::ops::engine::autograd::{
    Backward, Downstream, Upstream, are_tracked, has_kernel, linear, of_first, record,
    recorded_linear,
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
    if x.elem_count() * indices.elem_count() == 0 {
        // Candle reads beyond the end of an empty tensor.
        let mut shape = x.dims().to_vec();
        shape[dim] = indices.elem_count();
        check::output(&"index_select", &shape, x)?;
        return Raw::zeros(shape, x.dtype(), x.device());
    }
    if is_half(x) && are_tracked(&[x]) && x.device().is_cpu() {
        return in_single([x], |[x]| selected(&x, indices, dim.into()));
    }
    if !has_kernel(&[x]) {
        return x.contiguous()?.index_select(&indices.contiguous()?, dim);
    }
    let mut shape = x.dims().to_vec();
    shape[dim] = indices.elem_count();
    dispatch_dtype!(x, forward(x, &positions(indices)?, dim, shape))
}

/// Returns the rows of a matrix at some indices, in this shape. The indices are in range, and the kernels can compute with
/// the matrix.
pub(in crate::ops) fn rows_at(x: &Raw, indices: &Raw, shape: Vec<usize>) -> Result<Raw> {
    dispatch_dtype!(x, forward(x, &positions(indices)?, 0, shape))
}

/// Computes the parts at these indices of a dimension, in a shape with as many elements.
fn forward<T: Element>(x: &Raw, positions: &Raw, dim: usize, shape: Vec<usize>) -> Result<Raw> {
    let input = in_order(x)?;
    let indices = CpuView::of(positions)?;
    let indices = indices.as_slice::<i64>()?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    let (size, inner) = (x.dims()[dim], x.dims()[dim + 1..].iter().product::<usize>());
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

/// Returns zeros of a shape to which parts are added at the indices of a dimension: what the backward pass of
/// [`index_select`] computes. The indices are in range.
pub(super) fn added_parts(parts: &Raw, indices: &Raw, shape: &[usize], dim: usize) -> Result<Raw> {
    if is_half(parts) {
        return in_single([parts], |[parts]| added_parts(&parts, indices, shape, dim));
    }
    match has_kernel(&[parts]) && parts.elem_count() > 0 {
        true => dispatch_dtype!(parts, added_on_cpu(parts, indices, shape, dim)),
        false => {
            let zeros = Raw::zeros(shape, parts.dtype(), parts.device())?;
            zeros.index_add(&indices.contiguous()?, &parts.contiguous()?, dim)
        }
    }
}

fn added_on_cpu<T: Element>(
    parts: &Raw,
    indices: &Raw,
    of_sums: &[usize],
    dim: usize,
) -> Result<Raw> {
    let indices = positions(indices)?;
    let back = Back::<T> {
        indices: indices.clone(),
        shape: of_sums.to_vec(),
        dim,
        element: PhantomData,
    };
    let sums = back.sums(&in_order(parts)?)?;
    let shape = parts.dims().to_vec();
    let select = move |g: &Raw| forward::<T>(g, &indices, dim, shape.clone());
    recorded_linear(parts, sums, of_sums, select)
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

impl<T: Element> Back<T> {
    /// Returns zeros of the shape of `x` to which the gradients are added at their places.
    fn sums(&self, gradient: &Raw) -> Result<Vec<T>> {
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
        Ok(unsafe {
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
        })
    }
}

impl<T: Element> Backward for Back<T> {
    fn backward(&self, Upstream { gradient, .. }: &Upstream<'_>) -> Result<Downstream> {
        of_first(self.sums(gradient)?, &self.shape[..])
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (indices, dim) = (self.indices.clone(), self.dim);
        let shape = upstream.gradient.dims().to_vec();
        linear(self, upstream, move |x| {
            forward::<T>(x, &indices, dim, shape.clone())
        })
    }
}
