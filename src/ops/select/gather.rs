//! An element of a dimension for each index.

use super::{CHUNK, check_indices, positions};
use crate::error::{self, OrRaise};
use crate::ops::engine::autograd::{Backward, Downstream, Upstream, has_kernel, record};
use crate::ops::engine::simd::Element;
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{CpuView, dispatch_dtype, vec_by_chunks, whole_rows};
use crate::tensor::{Axis, Raw, Tensor};
use candle_core::Result;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Returns for each index in `indices` the element at that index of a dimension. All other indices are those
/// of the place in `indices`.
///
/// # Panics
/// If `indices` is larger than `x` in another dimension, or an index is out of range.
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[1.0, 2.0], [3.0, 4.0]], &cpu()); // (2, 2)
/// let y = x.gather(&tensor(&[[1], [0]], &cpu()), 1); // (2, 1)
/// assert_eq!(y.to_vec2::<f32>(), [[2.0], [3.0]]);
/// ```
#[inline]
#[track_caller]
pub fn gather(x: &Tensor, indices: &Tensor, dim: impl Into<Axis>) -> Tensor {
    let dim = dim.into();
    gathered(x.raw(), indices.raw(), dim).or_raise().into()
}

fn gathered(x: &Raw, indices: &Raw, dim: Axis) -> Result<Raw> {
    let dim = dim.of(&"gather", x)?;
    check_indices("gather", x, indices, dim)?;
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
        ));
    }
    match has_kernel(&[x]) && x.elem_count() * indices.elem_count() > 0 {
        true => dispatch_dtype!(x, forward(x, indices, dim)),
        false => x.contiguous()?.gather(&indices.contiguous()?, dim),
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
    // SAFETY: chunks are whole rows, and the loop initialises each row.
    let found = unsafe {
        let row = places.row();
        vec_by_chunks(positions.len(), whole_rows(CHUNK, row), |first, out| {
            let rows = positions[first..]
                .chunks_exact(row)
                .zip(out.chunks_exact_mut(row));
            for (i, (indices, out)) in rows.enumerate() {
                let (start, step) = places.of_row(first / row + i);
                let values = &values[start..];
                if step == 0 {
                    for (out, index) in out.iter_mut().zip(indices) {
                        out.write(values[*index as usize]);
                    }
                } else {
                    for ((out, index), i) in out.iter_mut().zip(indices).zip(0..) {
                        out.write(values[i + *index as usize * places.stride]);
                    }
                }
            }
        })
    };
    drop(view);
    let shape = indices.shape();
    record(&[x], found, shape, || Back::<T> {
        places,
        element: PhantomData,
    })
}

/// Where the elements are in the contiguous memory of `x`.
struct Places {
    shape: Vec<usize>,
    dim: usize,
    indices: Raw,
    /// The distance from one index of `dim` to the next.
    stride: usize,
}

impl Places {
    fn of(shape: &[usize], indices: &Raw, dim: usize) -> Result<Self> {
        Ok(Places {
            shape: shape.to_vec(),
            dim,
            indices: positions(indices)?,
            stride: shape[dim + 1..].iter().product(),
        })
    }

    /// Returns the size of the last dimension of the indices.
    fn row(&self) -> usize {
        self.indices.dims()[self.shape.len() - 1]
    }

    /// Returns where the elements for a row of the indices begin, and the distance from one to the next, without the
    /// index.
    fn of_row(&self, row: usize) -> (usize, usize) {
        let (last, dims) = (self.shape.len() - 1, self.indices.dims());
        let (mut start, mut index, mut stride) = (0, row, self.shape[last]);
        for i in (0..last).rev() {
            if i != self.dim {
                start += index % dims[i] * stride;
            }
            index /= dims[i];
            stride *= self.shape[i];
        }
        (start, usize::from(self.dim != last))
    }
}

struct Back<T> {
    places: Places,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn backward(&self, Upstream { gradient, .. }: Upstream<'_>) -> Result<Downstream> {
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
        let of_x = unsafe {
            vec_by_chunks(count, whole_rows(CHUNK, block), |first, out| {
                out.fill(MaybeUninit::new(T::ZERO));
                let out = out.assume_init_mut();
                let rows: Range<usize> = first / block..(first + out.len()) / block;
                let last = g.len() / row;
                for row_index in rows.start * rows_per_block..(rows.end * rows_per_block).min(last)
                {
                    let (start, step) = places.of_row(row_index);
                    let out = &mut out[start - first..];
                    let terms = g[row_index * row..][..row].iter();
                    let terms = terms.zip(&positions[row_index * row..]).enumerate();
                    for (i, (g, index)) in terms {
                        out[i * step + *index as usize * places.stride] += *g;
                    }
                }
            })
        };
        let of_x = Raw::from_vec(of_x, &places.shape[..], gradient.device())?;
        Ok([Some(of_x), None, None])
    }
}
