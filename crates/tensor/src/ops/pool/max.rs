//! The kernel of max pooling.
//!
//! An output row first takes the maximum over its input rows, column by column, then over neighbouring
//! columns. With a stride of 2, the maxima of even and odd columns are separated in between; with a larger
//! stride, there are more parts. So the loops run over contiguous elements.

use super::plane::plane_gradients;
use crate::device::Windows;
use crate::ops::engine::autograd::{
    Backward, Downstream, Held, IndexedCopy, Upstream, are_tracked, record,
};
use crate::ops::engine::read::read;
use crate::ops::engine::{CpuView, Element};
use crate::ops::lookup::positions;
use crate::tensor::Raw;
use candle_core::Result;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use taper_compute::scratch::with_scratch;
use taper_compute::shared_slice::SharedSlice;
use taper_compute::simd::multiversion;
use taper_compute::threads::for_each_task;
use taper_compute::write::{self, Parts};

/// Returns the maxima, and their indices in the planes if they are wanted.
pub(super) fn max_pool<T: Element>(
    x: &Raw,
    windows: Windows,
    with_indices: bool,
) -> Result<(Raw, Option<Raw>)> {
    let shape = windows.shape(x)?;
    if !with_indices && !are_tracked(&[x]) {
        let y = read([x], |[x]| max_values::<T>(windows, x))?;
        return Ok((Raw::from_vec(y, shape, x.device())?, None));
    }
    let count = windows.outputs();
    let mut indices = vec![0u32; windows.planes * count];
    let mut y = vec![T::ZERO; windows.planes * count];
    let (outs, out_indices) = (SharedSlice::new(&mut y), SharedSlice::new(&mut indices));
    read([x], |[x]| {
        for_each_task(windows.planes, |i| {
            let x = &x[i * windows.pixels()..][..windows.pixels()];
            // SAFETY: each task has its own plane, and the planes do not overlap.
            unsafe {
                let indices = out_indices.part(i * count, count);
                max_pool_plane(windows, x, outs.part(i * count, count), indices);
            }
        });
    })?;
    let indices = Raw::from_vec(indices, shape, x.device())?;
    let y = record(&[x], y, shape, || Back::<T> {
        windows,
        indices: indices.clone(),
        x: x.dims().to_vec(),
        element: PhantomData,
    })?;
    Ok((y, Some(indices)))
}

/// Returns the maxima of all planes without their indices.
fn max_values<T: Element>(windows: Windows, x: &[T]) -> Vec<T> {
    let (pixels, count) = (windows.pixels(), windows.outputs());
    let columns = windows.padded_width();
    let scratch = columns + windows.part_width() * windows.stride[1] + windows.output[1];
    write::by_chunks(windows.planes * count, count, |first, y| {
        let x = &x[first / count * pixels..][..pixels];
        with_scratch(scratch, |scratch: &mut [T]| {
            max_of_plane(windows, x, scratch, y)
        })
    })
}

multiversion! {
    fn max_of_plane<'a, T: Element>(windows: Windows, x: &[T], scratch: &mut [T], y: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
        let (stride, width, [height, out_width]) = (windows.stride[1], windows.part_width(), windows.output);
        let (padding, columns, none) = (windows.padding[1], windows.size[1], T::of(f64::NEG_INFINITY));
        // The maxima of the columns, with the padding on both sides; the same, separated; a row of the
        // output.
        let (max, rest) = scratch.split_at_mut(windows.padded_width());
        let (parts, out) = rest.split_at_mut(width * stride);
        max.fill(none);
        let mut rows = Parts::new(y);
        for row in 0..height {
            let inner = &mut max[padding..][..columns];
            let mut lines = windows.rows(row).map(|line| &x[line * columns..][..columns]);
            match lines.next() {
                Some(line) => inner.copy_from_slice(line),
                None => inner.fill(none),
            }
            for line in lines {
                larger(line, inner);
            }
            if stride > 1 {
                separated(max, stride, parts);
            }
            let parts = if stride > 1 { &*parts } else { &*max };
            for k in windows.columns() {
                let maxima = &parts[k % stride * width + k / stride..][..out_width];
                match k {
                    0 => out.copy_from_slice(maxima),
                    _ => larger(maxima, out),
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

fn max_pool_plane<T: Element>(windows: Windows, x: &[T], y: &mut [T], indices: &mut [u32]) {
    let (padding, width, stride) = (windows.padding[1], windows.size[1], windows.stride[1]);
    let mut max = vec![T::of(f64::NEG_INFINITY); windows.padded_width()];
    let mut argmax = vec![u32::MAX; max.len()];
    let mut parts = vec![max[0]; windows.part_width() * stride];
    let mut argparts = vec![u32::MAX; parts.len()];
    let lines = y.chunks_exact_mut(windows.output[1]);
    let lines = lines.zip(indices.chunks_exact_mut(windows.output[1]));
    for (row, (y, indices)) in lines.enumerate() {
        let (inner, inner_argmax) = (
            &mut max[padding..][..width],
            &mut argmax[padding..][..width],
        );
        let mut lines = windows
            .rows(row)
            .map(|line| (&x[line * width..][..width], (line * width) as u32));
        match lines.next() {
            Some((line, first)) => set_row(line, first, inner, inner_argmax),
            None => {
                inner.fill(T::of(f64::NEG_INFINITY));
                inner_argmax.fill(u32::MAX);
            }
        }
        for (line, first) in lines {
            max_with_row(line, first, inner, inner_argmax);
        }
        if stride == 1 {
            max_of_columns(windows, &max, &argmax, y, indices);
            continue;
        }
        separate(&max, stride, &mut parts);
        separate(&argmax, stride, &mut argparts);
        max_of_columns(windows, &parts, &argparts, y, indices);
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
    fn max_of_columns<T: Element>(windows: Windows, max: &[T], argmax: &[u32], y: &mut [T], indices: &mut [u32]) {
        let stride = windows.stride[1];
        for k in windows.columns() {
            let first = k % stride * windows.part_width() + k / stride;
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
    windows: Windows,
    /// For each output, the index of the maximum in its plane; of equal maxima, that of the first.
    indices: Raw,
    x: Vec<usize>,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn hold(&self, held: &mut Held) {
        held.tensor(&self.indices);
    }

    fn backward(&self, Upstream { gradient, .. }: &Upstream<'_>) -> Result<Downstream> {
        let view = CpuView::of(&self.indices)?;
        let indices = view.as_slice::<u32>()?;
        let of_x = plane_gradients(self.windows, &self.x, gradient, |range, g: &[T], out| {
            for (g, index) in g.iter().zip(&indices[range]) {
                // A window within the padding has no maximum.
                if let Some(sum) = out.get_mut(*index as usize) {
                    *sum += *g;
                }
            }
        })?;
        Ok([Some(of_x), None, None])
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (planes, pixels) = (self.windows.planes, self.windows.pixels());
        let indices = positions(&self.indices.reshape((planes, ()))?)?;
        let places = IndexedCopy::of_elements(indices, &[planes, pixels], 1);
        let of_x = places.add(&upstream.gradient.reshape((planes, ()))?)?;
        Ok([Some(of_x.reshape(&self.x[..])?), None, None])
    }
}
