//! The kernel of max pooling.
//!
//! An output row first takes the maximum over its input rows, column by column, then over neighbouring
//! columns. With a stride of 2, the maxima of even and odd columns are separated in between; with a larger
//! stride, there are more parts. So the loops run over contiguous elements.

use super::plane::{Plane, plane_gradients};
use crate::ops::engine::autograd::{
    Backward, Downstream, Held, IndexedCopy, Upstream, are_tracked, record,
};
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{CpuView, Element};
use crate::tensor::Raw;
use candle_core::Result;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use taper_compute::scratch::with_scratch;
use taper_compute::shared_slice::SharedSlice;
use taper_compute::simd::multiversion;
use taper_compute::threads::for_each_task;
use taper_compute::write::{self, Parts};

pub(super) fn max_pool<T: Element>(x: &Raw, plane: Plane) -> Result<Raw> {
    let input = in_order(x)?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    if !are_tracked(&[x]) {
        return Raw::from_vec(
            max_values(plane, values),
            plane.output_shape(x)?,
            x.device(),
        );
    }
    let planes = values.len() / plane.elements();
    let count = plane.out_elements();
    let mut indices = vec![0u32; planes * count];
    let mut y = vec![T::ZERO; planes * count];
    let (outs, out_indices) = (SharedSlice::new(&mut y), SharedSlice::new(&mut indices));
    for_each_task(planes, |i| {
        // SAFETY: each task has its own plane, and the planes do not overlap.
        let (y, indices) = unsafe {
            (
                outs.part(i * count, count),
                out_indices.part(i * count, count),
            )
        };
        max_pool_plane(
            plane,
            &values[i * plane.elements()..][..plane.elements()],
            y,
            indices,
        );
    });
    drop(view);
    record(&[x], y, plane.output_shape(x)?, || Back::<T> {
        plane,
        indices,
        x: x.dims().to_vec(),
        element: PhantomData,
    })
}

/// Returns the maxima of all planes without their indices, which only the gradient needs.
fn max_values<T: Element>(plane: Plane, x: &[T]) -> Vec<T> {
    let count = plane.out_elements();
    let columns = plane.padded_width();
    let scratch = columns + plane.part_width() * plane.spec.stride.width + plane.out_width;
    write::by_chunks(x.len() / plane.elements() * count, count, |first, y| {
        let x = &x[first / count * plane.elements()..][..plane.elements()];
        with_scratch(scratch, |scratch: &mut [T]| {
            max_of_plane(plane, x, scratch, y)
        })
    })
}

multiversion! {
    fn max_of_plane<'a, T: Element>(plane: Plane, x: &[T], scratch: &mut [T], y: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
        let (stride, width) = (plane.spec.stride.width, plane.part_width());
        // The maxima of the columns, with the padding on both sides; the same, separated; a row of the
        // output.
        let (max, rest) = scratch.split_at_mut(plane.padded_width());
        let (parts, out) = rest.split_at_mut(width * stride);
        max.fill(T::of(f64::NEG_INFINITY));
        let mut rows = Parts::new(y);
        for row in 0..plane.out_height {
            let inner = &mut max[plane.spec.padding.width..][..plane.width];
            for (i, line) in plane.rows(row).enumerate() {
                let line = &x[line * plane.width..][..plane.width];
                match i {
                    0 => inner.copy_from_slice(line),
                    _ => larger(line, inner),
                }
            }
            if stride > 1 {
                separated(max, stride, parts);
            }
            let columns = if stride > 1 { &*parts } else { &*max };
            for k in 0..plane.spec.kernel.width {
                let columns = &columns[k % stride * width + k / stride..][..plane.out_width];
                match k {
                    0 => out.copy_from_slice(columns),
                    _ => larger(columns, out),
                }
            }
            rows.copy(out);
        }
        rows.finish()
    }
}

/// Replaces the values in `max` that are smaller than those in `x`. NaN counts as larger than all other values.
#[inline(always)]
fn larger<T: Element>(x: &[T], max: &mut [T]) {
    for (x, max) in x.iter().zip(max) {
        *max = if (*x > *max) | x.is_nan() { *x } else { *max };
    }
}

fn max_pool_plane<T: Element>(plane: Plane, x: &[T], y: &mut [T], indices: &mut [u32]) {
    let (padding, stride) = (plane.spec.padding.width, plane.spec.stride.width);
    let inner = padding..padding + plane.width;
    let mut max = vec![T::of(f64::NEG_INFINITY); plane.padded_width()];
    let mut argmax = vec![u32::MAX; plane.padded_width()];
    let mut parts = vec![max[0]; plane.part_width() * stride];
    let mut argparts = vec![u32::MAX; parts.len()];
    let lines = y.chunks_exact_mut(plane.out_width);
    for (row, (y, indices)) in lines
        .zip(indices.chunks_exact_mut(plane.out_width))
        .enumerate()
    {
        for (i, line) in plane.rows(row).enumerate() {
            let first = line * plane.width;
            let line = &x[first..][..plane.width];
            let (max, argmax) = (&mut max[inner.clone()], &mut argmax[inner.clone()]);
            match i {
                0 => set_row(line, first as u32, max, argmax),
                _ => max_with_row(line, first as u32, max, argmax),
            }
        }
        if stride == 1 {
            max_of_columns(plane, &max, &argmax, y, indices);
            continue;
        }
        separate(&max, stride, &mut parts);
        separate(&argmax, stride, &mut argparts);
        max_of_columns(plane, &parts, &argparts, y, indices);
    }
}

fn set_row<T: Element>(line: &[T], first: u32, max: &mut [T], argmax: &mut [u32]) {
    max.copy_from_slice(line);
    for (argmax, i) in argmax.iter_mut().zip(first..) {
        *argmax = i;
    }
}

multiversion! {
    /// Updates the maxima and their indices with an input row. NaN counts as larger than all other values.
    fn max_with_row<T: Element>(line: &[T], first: u32, max: &mut [T], argmax: &mut [u32]) {
        let mut index = first;
        for ((x, max), argmax) in line.iter().zip(max).zip(argmax) {
            let larger = (*x > *max) | x.is_nan();
            *max = if larger { *x } else { *max };
            *argmax = if larger { index } else { *argmax };
            index = index.wrapping_add(1);
        }
    }
}

multiversion! {
    fn separate<T: Copy>(columns: &[T], stride: usize, parts: &mut [T]) {
        separated(columns, stride, parts);
    }
}

/// Copies every `stride`-th column, beginning with the first, to the first part; those beginning with the
/// second to the second part; and so on.
#[inline(always)]
fn separated<T: Copy>(columns: &[T], stride: usize, parts: &mut [T]) {
    let width = parts.len() / stride;
    // The usual stride, in a form that the compiler vectorises.
    if stride == 2 {
        let (pairs, last) = columns.as_chunks::<2>();
        let (even, odd) = parts.split_at_mut(width);
        for ((even, odd), pair) in even.iter_mut().zip(odd).zip(pairs) {
            (*even, *odd) = (pair[0], pair[1]);
        }
        even[width - last.len()..].copy_from_slice(last);
        return;
    }
    for (first, part) in parts.chunks_exact_mut(width).enumerate() {
        for (value, column) in part.iter_mut().zip(columns[first..].iter().step_by(stride)) {
            *value = *column;
        }
    }
}

multiversion! {
    /// Computes an output row and the indices of its maxima from the parts that [`separated`] wrote. Of
    /// equal values, the one that comes first in the image counts.
    fn max_of_columns<T: Element>(plane: Plane, max: &[T], argmax: &[u32], y: &mut [T], indices: &mut [u32]) {
        let stride = plane.spec.stride.width;
        for k in 0..plane.spec.kernel.width {
            let first = k % stride * plane.part_width() + k / stride;
            let (max, argmax) = (&max[first..][..y.len()], &argmax[first..][..y.len()]);
            if k == 0 {
                y.copy_from_slice(max);
                indices.copy_from_slice(argmax);
                continue;
            }
            let found = y.iter_mut().zip(indices.iter_mut());
            for ((y, index), (x, argmax)) in found.zip(max.iter().zip(argmax)) {
                let larger = (*x > *y) | x.is_nan() | ((*x == *y) & (*argmax < *index));
                *y = if larger { *x } else { *y };
                *index = if larger { *argmax } else { *index };
            }
        }
    }
}

struct Back<T> {
    plane: Plane,
    /// The index of each maximum in its input plane.
    indices: Vec<u32>,
    /// The shape of the input.
    x: Vec<usize>,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn hold(&self, held: &mut Held) {
        held.slice(&self.indices);
    }

    fn backward(&self, Upstream { gradient, .. }: &Upstream<'_>) -> Result<Downstream> {
        let of_x = plane_gradients(self.plane, &self.x, gradient, |range, g: &[T], out| {
            for (g, index) in g.iter().zip(&self.indices[range]) {
                out[*index as usize] += *g;
            }
        })?;
        Ok([Some(of_x), None, None])
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let count = self.plane.out_elements();
        let place = |(i, index): (usize, &u32)| {
            (i / count * self.plane.elements()) as i64 + i64::from(*index)
        };
        let positions = self.indices.iter().enumerate().map(place).collect();
        let places = IndexedCopy::at(positions, &self.x, upstream.gradient.dims())?;
        Ok([Some(places.add(upstream.gradient)?), None, None])
    }
}
