//! The kernel of average pooling.
//!
//! An output row first sums its input rows, column by column, then neighbouring columns: both loops run
//! over contiguous elements.

use super::plane::plane_gradients;
use crate::device::Windows;
use crate::ops::engine::Element;
use crate::ops::engine::autograd::recorded_linear;
use crate::ops::engine::read::read;
use crate::tensor::Raw;
use candle_core::Result;
use taper_compute::simd::multiversion;
use taper_compute::sums::add;
use taper_compute::write;

pub(super) fn avg_pool<T: Element>(x: &Raw, windows: Windows) -> Result<Raw> {
    let (pixels, count) = (windows.pixels(), windows.outputs());
    let y = read([x], |[x]| {
        write::by_chunks(windows.planes * count, count, |first, y| {
            let y = write::fill(y, T::ZERO);
            avg_pool_plane(windows, &x[first / count * pixels..][..pixels], y);
            y
        })
    })?;
    let y = Raw::from_vec(y, windows.shape(x)?, x.device())?;
    Ok(recorded_linear(x, y, || {
        let shape = x.dims().to_vec();
        move |g: &Raw| spread::<T>(g, windows, &shape)
    }))
}

/// Returns the gradient of the input, which has this shape.
fn spread<T: Element>(g: &Raw, windows: Windows, shape: &[usize]) -> Result<Raw> {
    let add = |_, g: &[T], out: &mut [T]| spread_gradient(windows, g, out);
    let of_x = plane_gradients(windows, shape, g, add)?;
    Ok(recorded_linear(g, of_x, || {
        move |x: &Raw| avg_pool::<T>(x, windows)
    }))
}

fn avg_pool_plane<T: Element>(windows: Windows, x: &[T], y: &mut [T]) {
    let (padding, width) = (windows.padding[1], windows.size[1]);
    let (kernel, stride) = (windows.kernel[1], windows.stride[1]);
    let scale = T::ONE / T::of(windows.places() as f64);
    let mut sums = vec![T::ZERO; windows.padded_width()];
    for (row, y) in y.chunks_exact_mut(windows.output[1]).enumerate() {
        let sums_inside = &mut sums[padding..padding + width];
        sums_inside.fill(T::ZERO);
        for row in windows.rows(row) {
            add(&x[row * width..][..width], sums_inside);
        }
        means_of_columns(kernel, stride, scale, &sums, y);
    }
}

multiversion! {
    fn means_of_columns<T: Element>(kernel: usize, stride: usize, scale: T, sums: &[T], y: &mut [T]) {
        y.fill(T::ZERO);
        for k in 0..kernel {
            let sums = &sums[k..];
            match stride {
                1 => y.iter_mut().zip(sums).for_each(|(y, sum)| *y += *sum),
                2 => add_by(2, sums, y),
                _ => add_by(stride, sums, y),
            }
        }
        for y in y.iter_mut() {
            *y *= scale;
        }
    }
}

/// A stride that the compiler knows makes a faster loop.
#[inline(always)]
fn add_by<T: Element>(stride: usize, sums: &[T], y: &mut [T]) {
    let sums = &sums[..(y.len() - 1) * stride + 1];
    for (i, y) in y.iter_mut().enumerate() {
        *y += sums[i * stride];
    }
}

/// Adds to each element of a patch its share of the patch's gradient.
fn spread_gradient<T: Element>(windows: Windows, gradient: &[T], out: &mut [T]) {
    let (kernel, stride) = (windows.kernel[1], windows.stride[1]);
    let (padding, width) = (windows.padding[1], windows.size[1]);
    let scale = T::ONE / T::of(windows.places() as f64);
    let mut line = vec![T::ZERO; windows.padded_width()];
    for (row, gradient) in gradient.chunks_exact(windows.output[1]).enumerate() {
        line.fill(T::ZERO);
        for (g, first) in gradient.iter().zip((0..).step_by(stride)) {
            let g = *g * scale;
            for element in &mut line[first..first + kernel] {
                *element += g;
            }
        }
        for row in windows.rows(row) {
            add(
                &line[padding..padding + width],
                &mut out[row * width..][..width],
            );
        }
    }
}
