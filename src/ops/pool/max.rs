//! The kernel of max pooling.
//!
//! An output row first takes the maximum over its input rows, column by column, then over neighbouring
//! columns: both loops run over contiguous elements.

use super::plane::{Plane, Pool2dSpec, plane_gradients};
use crate::ops::engine::CpuView;
use crate::ops::engine::autograd::{Backward, record};
use crate::ops::engine::shared_slice::SharedSlice;
use crate::ops::engine::simd::{Element, multiversion};
use crate::ops::engine::threads::for_each_task;
use candle_core::{Result, Tensor};
use std::marker::PhantomData;

pub(super) fn max_pool<T: Element>(x: &Tensor, plane: Plane) -> Result<Tensor> {
    let input = x.contiguous()?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
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

fn max_pool_plane<T: Element>(plane: Plane, x: &[T], y: &mut [T], indices: &mut [u32]) {
    let padding = plane.spec.padding.width;
    let mut max = vec![T::of(f64::NEG_INFINITY); plane.padded_width()];
    let mut argmax = vec![u32::MAX; plane.padded_width()];
    let lines = y.chunks_exact_mut(plane.out_width);
    for (row, (y, indices)) in lines
        .zip(indices.chunks_exact_mut(plane.out_width))
        .enumerate()
    {
        let inner = padding..padding + plane.width;
        for (i, line) in plane.rows(row).enumerate() {
            let first = ((plane.rows(row).start + i) * plane.width) as u32;
            let line = &x[line * plane.width..][..plane.width];
            let (max, argmax) = (&mut max[inner.clone()], &mut argmax[inner.clone()]);
            match i {
                0 => set_row(line, first, max, argmax),
                _ => max_with_row(line, first, max, argmax),
            }
        }
        max_of_columns(plane.spec, &max, &argmax, y, indices);
    }
}

fn set_row<T: Element>(line: &[T], first: u32, max: &mut [T], argmax: &mut [u32]) {
    max.copy_from_slice(line);
    for (argmax, i) in argmax.iter_mut().zip(first..) {
        *argmax = i;
    }
}

multiversion! {
    /// NaN counts as larger than all other values.
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
    fn max_of_columns<T: Element>(spec: Pool2dSpec, max: &[T], argmax: &[u32], y: &mut [T], indices: &mut [u32]) {
        match spec.stride.width {
            1 => max_of_columns_by::<T, 1>(spec, max, argmax, y, indices),
            2 => max_of_columns_by::<T, 2>(spec, max, argmax, y, indices),
            _ => max_of_columns_by::<T, 0>(spec, max, argmax, y, indices),
        }
    }
}

/// Compiled for a constant stride, or for any stride if `STRIDE` is 0. Of equal values, the first of the
/// image counts.
#[inline(always)]
fn max_of_columns_by<T: Element, const STRIDE: usize>(
    spec: Pool2dSpec,
    max: &[T],
    argmax: &[u32],
    y: &mut [T],
    indices: &mut [u32],
) {
    let stride = if STRIDE == 0 {
        spec.stride.width
    } else {
        STRIDE
    };
    let count = y.len();
    let span = (count - 1) * stride + 1;
    for k in 0..spec.kernel.width {
        let (max, argmax) = (&max[k..][..span], &argmax[k..][..span]);
        if k == 0 {
            for i in 0..count {
                (y[i], indices[i]) = (max[i * stride], argmax[i * stride]);
            }
            continue;
        }
        for i in 0..count {
            let (x, index) = (max[i * stride], argmax[i * stride]);
            let larger = (x > y[i]) | x.is_nan() | ((x == y[i]) & (index < indices[i]));
            y[i] = if larger { x } else { y[i] };
            indices[i] = if larger { index } else { indices[i] };
        }
    }
}

struct Back<T> {
    plane: Plane,
    /// The index of each maximum in its input plane.
    indices: Vec<u32>,
    x: Vec<usize>,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn backward(
        &self,
        _: Option<&Tensor>,
        gradient: &Tensor,
        _: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        plane_gradients(self.plane, &self.x, gradient, |range, g: &[T], out| {
            for (g, index) in g.iter().zip(&self.indices[range]) {
                out[*index as usize] += *g;
            }
        })
    }
}
