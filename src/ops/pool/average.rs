//! The kernel of average pooling.
//!
//! An output row first sums its input rows, column by column, then neighbouring columns: both loops run
//! over contiguous elements.

use super::plane::{Plane, Pool2dSpec, plane_gradients};
use crate::ops::engine::autograd::recorded_linear;
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{CpuView, Element};
use crate::tensor::Raw;
use candle_core::Result;
use taper_compute::shared_slice::SharedSlice;
use taper_compute::simd::multiversion;
use taper_compute::threads::for_each_task;

pub(super) fn avg_pool<T: Element>(x: &Raw, plane: Plane) -> Result<Raw> {
    let input = in_order(x)?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    let planes = values.len() / plane.elements();
    let count = plane.out_elements();
    let mut y = vec![T::ZERO; planes * count];
    let outs = SharedSlice::new(&mut y);
    for_each_task(planes, |i| {
        // SAFETY: each task has its own plane, and the planes do not overlap.
        let y = unsafe { outs.part(i * count, count) };
        avg_pool_plane(
            plane,
            &values[i * plane.elements()..][..plane.elements()],
            y,
        );
    });
    let y = Raw::from_vec(y, plane.output_shape(x)?, x.device())?;
    Ok(recorded_linear(x, y, || {
        let shape = x.dims().to_vec();
        move |g: &Raw| spread::<T>(g, plane, &shape)
    }))
}

/// Returns the gradient of the input, which has this shape.
fn spread<T: Element>(g: &Raw, plane: Plane, shape: &[usize]) -> Result<Raw> {
    let add = |_, g: &[T], out: &mut [T]| spread_gradient(plane, g, out);
    let of_x = plane_gradients(plane, shape, &in_order(g)?, add)?;
    Ok(recorded_linear(g, of_x, || {
        move |x: &Raw| avg_pool::<T>(x, plane)
    }))
}

fn avg_pool_plane<T: Element>(plane: Plane, x: &[T], y: &mut [T]) {
    let padding = plane.spec.padding.width;
    let mut sums = vec![T::ZERO; plane.padded_width()];
    for (row, y) in y.chunks_exact_mut(plane.out_width).enumerate() {
        let sums_inside = &mut sums[padding..padding + plane.width];
        sums_inside.fill(T::ZERO);
        for row in plane.rows(row) {
            add(&x[row * plane.width..][..plane.width], sums_inside);
        }
        means_of_columns(plane.spec, &sums, y);
    }
}

multiversion! {
    fn add<T: Element>(x: &[T], sums: &mut [T]) {
        for (sum, x) in sums.iter_mut().zip(x) {
            *sum += *x;
        }
    }
}

multiversion! {
    fn means_of_columns<T: Element>(spec: Pool2dSpec, sums: &[T], y: &mut [T]) {
        match spec.stride.width {
            1 => means_of_columns_by::<T, 1>(spec, sums, y),
            2 => means_of_columns_by::<T, 2>(spec, sums, y),
            _ => means_of_columns_by::<T, 0>(spec, sums, y),
        }
    }
}

#[inline(always)]
fn means_of_columns_by<T: Element, const STRIDE: usize>(spec: Pool2dSpec, sums: &[T], y: &mut [T]) {
    let stride = if STRIDE == 0 {
        spec.stride.width
    } else {
        STRIDE
    };
    let scale = T::ONE / T::of(spec.kernel.product() as f64);
    let span = (y.len() - 1) * stride + 1;
    y.fill(T::ZERO);
    for k in 0..spec.kernel.width {
        let sums = &sums[k..][..span];
        for (i, y) in y.iter_mut().enumerate() {
            *y += sums[i * stride];
        }
    }
    for y in y.iter_mut() {
        *y *= scale;
    }
}

/// Adds to each element of a patch its share of the patch's gradient.
fn spread_gradient<T: Element>(plane: Plane, gradient: &[T], out: &mut [T]) {
    let spec = plane.spec;
    let (kernel, stride) = (spec.kernel.width, spec.stride.width);
    let padding = spec.padding.width;
    let scale = T::ONE / T::of(spec.kernel.product() as f64);
    let mut line = vec![T::ZERO; plane.padded_width()];
    for (row, gradient) in gradient.chunks_exact(plane.out_width).enumerate() {
        line.fill(T::ZERO);
        for (g, first) in gradient.iter().zip((0..).step_by(stride)) {
            let g = *g * scale;
            for element in &mut line[first..first + kernel] {
                *element += g;
            }
        }
        for row in plane.rows(row) {
            let out = &mut out[row * plane.width..][..plane.width];
            add(&line[padding..padding + plane.width], out);
        }
    }
}
