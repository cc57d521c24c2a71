//! An element of a dimension for each index.

use super::index::selected;
use super::{CHUNK, check_range, check_type, positions, shared_along};
use crate::error;
use crate::ops::autograd::customized;
use crate::ops::broadcast::Runs;
use crate::ops::check::{in_single, is_half};
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
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

functions! {
    /// Returns for each index in `indices` the element at that index of a dimension. All other indices are those
    /// of the place in `indices`.
    ///
    /// # Panics
    /// If `indices` is larger than `x` in another dimension, or an index is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[1.0, 2.0], [3.0, 4.0]]); // (2, 2)
    /// let y = x.gather(&tensor(&[[1], [0]]), 1); // (2, 1)
    /// assert_eq!(y.to_vec2::<f32>(), [[2.0], [3.0]]);
    /// ```
    pub fn gather(x: &Tensor, indices: &Tensor, dim: impl Into<Axis>) => gathered(x.raw(), indices.raw(), dim.into());
}

fn gathered(x: &Raw, indices: &Raw, dim: Axis) -> Result<Raw> {
    // As in PyTorch, a scalar is a vector with one element.
    if indices.rank() == 0 && x.rank() < 2 {
        return gathered(x, &indices.unsqueeze(0)?, dim)?.squeeze(0);
    }
    if x.rank() == 0 {
        return gathered(&x.unsqueeze(0)?, indices, dim);
    }
    let dim = dim.of(&"gather", x)?;
    check_type("gather", x, indices)?;
    let fits = |(i, (size, count)): (usize, (&usize, &usize))| i == dim || count <= size;
    let mut sizes = x.dims().iter().zip(indices.dims()).enumerate();
    if x.rank() != indices.rank() || !sizes.all(fits) {
        return Err(error::shape(
            "gather",
            format_args!(
                "indices of a shape within {:?}, except along dimension {dim}",
                x.dims()
            ),
            indices.dims(),
            "Add dimensions with unsqueeze(dim), or repeat them with broadcast_as(shape)",
        )
        .into());
    }
    if let Some(row) = shared_along(dim, indices, x)? {
        check_range("gather", x, &row, dim)?;
        return selected(x, &row, dim.into());
    }
    if is_half(x) && are_tracked(&[x]) && x.device().is_cpu() {
        return in_single([x], |[x]| gathered(&x, indices, dim.into()));
    }
    match has_kernel(&[x]) && x.elem_count() * indices.elem_count() > 0 {
        true => dispatch_dtype!(x, forward(x, indices, dim)),
        false => {
            check_range("gather", x, indices, dim)?;
            x.contiguous()?.gather(&indices.contiguous()?, dim)
        }
    }
}

fn forward<T: Element>(x: &Raw, indices: &Raw, dim: usize) -> Result<Raw> {
    let input = in_order(x)?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    let places = Places::of(x.dims(), indices, dim)?;
    let positions = places.indices.clone();
    let positions = CpuView::of(&positions)?;
    let positions = positions.as_slice::<i64>()?;
    let (size, is_wrong) = (x.dims()[dim], AtomicBool::new(false));
    // SAFETY: chunks are whole rows, and the loop initialises each row.
    let found = unsafe {
        let row = places.row();
        vec_by_chunks(positions.len(), whole_rows(CHUNK, row), |first, out| {
            let rows = positions[first..]
                .chunks_exact(row)
                .zip(out.chunks_exact_mut(row));
            let (mut runs, step) = (places.rows_from(first / row), places.step());
            let mut all_fit = true;
            if places.has_a_row_each() {
                let of_rows = values[first / row * size..].chunks_exact(size);
                for ((indices, out), values) in rows.zip(of_rows) {
                    all_fit &= pick(values, indices, out);
                }
                if !all_fit {
                    is_wrong.store(true, Ordering::Relaxed);
                }
                return;
            }
            for (indices, out) in rows {
                let values = &values[runs.starts[0]..];
                runs.advance();
                if step == 0 {
                    all_fit &= pick(&values[..size], indices, out);
                    continue;
                }
                for ((out, index), i) in out.iter_mut().zip(indices).zip(0..) {
                    let fits = (*index as usize) < size;
                    all_fit &= fits;
                    let index = if fits { *index as usize } else { 0 };
                    out.write(values[i + index * places.stride]);
                }
            }
            if !all_fit {
                is_wrong.store(true, Ordering::Relaxed);
            }
        })
    };
    drop(view);
    if is_wrong.into_inner() {
        check_range("gather", x, indices, dim)?;
    }
    let shape = indices.shape();
    record(&[x], found, shape, || Back::<T> {
        places,
        element: PhantomData,
    })
}

/// Returns zeros of a shape to which values are added at the indices of a dimension: what the backward pass of
/// [`gather`] computes. The indices are in range.
pub(super) fn added(values: &Raw, indices: &Raw, shape: &[usize], dim: usize) -> Result<Raw> {
    if is_half(values) {
        return in_single([values], |[values]| added(&values, indices, shape, dim));
    }
    if has_kernel(&[values]) && values.elem_count() > 0 && !shape.contains(&0) {
        return dispatch_dtype!(values, added_on_cpu(values, indices, shape, dim));
    }
    // Candle needs values for all indices of the other dimensions, and its backward pass takes no other shape.
    let (mut values, mut indices) = (values.clone(), indices.clone());
    for other in (0..shape.len()).filter(|other| *other != dim) {
        let missing = shape[other] - values.dims()[other];
        values = values.pad_with_zeros(other, 0, missing)?;
        indices = indices.pad_with_zeros(other, 0, missing)?;
    }
    let indices = indices.contiguous()?;
    let zeros = Raw::zeros(shape, values.dtype(), values.device())?;
    let sums = zeros.scatter_add(&indices, &values.detach().contiguous()?, dim)?;
    if !are_tracked(&[&values]) {
        return Ok(sums);
    }
    let rule = move |_: &Tensor, g: &Tensor| g.gather(Tensor::from_raw_ref(&indices), dim);
    let (values, sums) = (Tensor::from_raw(values), Tensor::from_raw(sums));
    Ok(customized(&values, &sums, Box::new(rule)).into())
}

fn added_on_cpu<T: Element>(
    values: &Raw,
    indices: &Raw,
    shape: &[usize],
    dim: usize,
) -> Result<Raw> {
    let back = Back::<T> {
        places: Places::of(shape, indices, dim)?,
        element: PhantomData,
    };
    let sums = back.sums(&in_order(values)?)?;
    let indices = back.places.indices.clone();
    let gather = move |g: &Raw| forward::<T>(g, &indices, dim);
    recorded_linear(values, sums, shape, gather)
}

/// Writes the values at the indices; returns whether all are in range.
#[inline(always)]
fn pick<T: Element>(values: &[T], indices: &[i64], out: &mut [MaybeUninit<T>]) -> bool {
    let mut all_fit = true;
    for (out, index) in out.iter_mut().zip(indices) {
        // A negative index is a large one without its sign.
        let value = values.get(*index as usize);
        all_fit &= value.is_some();
        out.write(value.copied().unwrap_or(T::ZERO));
    }
    all_fit
}

/// Where the elements are in the contiguous memory of `x`.
struct Places {
    shape: Vec<usize>,
    dim: usize,
    indices: Raw,
    /// The distance from one index of `dim` to the next.
    stride: usize,
    /// The distances in the other dimensions; 0 for `dim`.
    steps: Vec<usize>,
}

impl Places {
    fn of(shape: &[usize], indices: &Raw, dim: usize) -> Result<Self> {
        let step = |dim: usize| shape[dim + 1..].iter().product();
        let mut steps = (0..shape.len()).map(step).collect::<Vec<usize>>();
        Ok(Places {
            shape: shape.to_vec(),
            dim,
            indices: positions(indices)?,
            stride: std::mem::take(&mut steps[dim]),
            steps,
        })
    }

    /// Returns the size of the last dimension of the indices.
    fn row(&self) -> usize {
        self.indices.dims()[self.shape.len() - 1]
    }

    /// Returns whether each row of the indices is for the row of `x` at the same place.
    fn has_a_row_each(&self) -> bool {
        let last = self.shape.len() - 1;
        self.dim == last && self.indices.dims()[..last] == self.shape[..last]
    }

    /// Returns the distance from one element of a row to the next, without the index.
    fn step(&self) -> usize {
        self.steps[self.shape.len() - 1]
    }

    /// Returns where the elements for the rows of the indices begin, from a row on.
    fn rows_from(&self, row: usize) -> Runs<'_, 1> {
        let outer = &self.indices.dims()[..self.shape.len() - 1];
        Runs::at(row, outer, [&self.steps])
    }
}

struct Back<T> {
    places: Places,
    element: PhantomData<T>,
}

impl<T: Element> Back<T> {
    /// Returns zeros of the shape of `x` to which the gradients are added at their places.
    fn sums(&self, gradient: &Raw) -> Result<Vec<T>> {
        let view = CpuView::of(gradient)?;
        let g = view.as_slice::<T>()?;
        let places = &self.places;
        let positions = CpuView::of(&places.indices)?;
        let positions = positions.as_slice::<i64>()?;
        let count = places.shape.iter().product::<usize>();
        // Different indices of the first dimension have different places, unless it is gathered from.
        let block = match places.dim {
            0 => count,
            _ => count / places.shape[0],
        };
        let row = places.row();
        let rows_per_block = match places.dim {
            0 => g.len() / row,
            _ => g.len() / row / places.indices.dims()[0],
        };
        // SAFETY: `fill` initialises the whole chunk.
        Ok(unsafe {
            vec_by_chunks(count, whole_rows(CHUNK, block), |first, out| {
                out.fill(MaybeUninit::new(T::ZERO));
                let out = out.assume_init_mut();
                let rows: Range<usize> = first / block..(first + out.len()) / block;
                let last = g.len() / row;
                if places.has_a_row_each() {
                    let size = places.shape[places.dim];
                    let start = first / size * row;
                    let terms = g[start..]
                        .chunks_exact(row)
                        .zip(positions[start..].chunks_exact(row));
                    for (out, (g, indices)) in out.chunks_exact_mut(size).zip(terms) {
                        for (g, index) in g.iter().zip(indices) {
                            out[*index as usize] += *g;
                        }
                    }
                    return;
                }
                let mut runs = places.rows_from(rows.start * rows_per_block);
                for row_index in rows.start * rows_per_block..(rows.end * rows_per_block).min(last)
                {
                    let out = &mut out[runs.starts[0] - first..];
                    runs.advance();
                    let terms = g[row_index * row..][..row].iter();
                    let terms = terms.zip(&positions[row_index * row..]).enumerate();
                    for (i, (g, index)) in terms {
                        out[i * places.step() + *index as usize * places.stride] += *g;
                    }
                }
            })
        })
    }
}

impl<T: Element> Backward for Back<T> {
    fn backward(&self, Upstream { gradient, .. }: &Upstream<'_>) -> Result<Downstream> {
        of_first(self.sums(gradient)?, &self.places.shape[..])
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (indices, dim) = (self.places.indices.clone(), self.places.dim);
        linear(self, upstream, move |x| forward::<T>(x, &indices, dim))
    }
}
