//! Pooling: the largest number or the mean of each window.
//!
//! Rows are combined first, number by number, and columns after that, so that both loops run
//! over neighbours.

use super::engine::autograd::{Backward, fits, record};
use super::engine::shared::Shared;
use super::engine::simd::{Element, multiversion};
use super::engine::threads::for_each_task;
use super::engine::{Numbers, for_type_of, make};
use candle_core::{Result, Tensor};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pooling {
    Max,
    Mean,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
    pub(crate) padding: usize,
}

/// Pools pictures `(batch, channels, height, width)`; `None` where there is no kernel. Padded, they must
/// be at least as large as a window, and padding is at most half of that. Padding counts in a mean.
pub(crate) fn pool2d(x: &Tensor, windows: Windows, pooling: Pooling) -> Result<Option<Tensor>> {
    if !fits(&[x]) || x.elem_count() == 0 || x.elem_count() >= u32::MAX as usize {
        return Ok(None);
    }
    let (_, _, height, width) = x.dims4()?;
    let steps = |size| (size + 2 * windows.padding - windows.kernel) / windows.stride + 1;
    let plane = Plane {
        windows,
        height,
        width,
        out_height: steps(height),
        out_width: steps(width),
    };
    match pooling {
        Pooling::Max => for_type_of!(x, largest(x, plane)),
        Pooling::Mean => for_type_of!(x, means(x, plane)),
    }
    .map(Some)
}

/// One channel of one picture.
#[derive(Clone, Copy)]
struct Plane {
    windows: Windows,
    height: usize,
    width: usize,
    out_height: usize,
    out_width: usize,
}

impl Plane {
    fn numbers(&self) -> usize {
        self.height * self.width
    }

    fn out_numbers(&self) -> usize {
        self.out_height * self.out_width
    }

    /// The input's rows below the windows of an output row.
    fn rows(&self, out_row: usize) -> std::ops::Range<usize> {
        let first = out_row * self.windows.stride;
        let end = (first + self.windows.kernel).saturating_sub(self.windows.padding);
        first.saturating_sub(self.windows.padding)..end.min(self.height)
    }

    fn padded_width(&self) -> usize {
        self.width + 2 * self.windows.padding
    }

    fn shape(&self, x: &Tensor) -> Result<(usize, usize, usize, usize)> {
        Ok((x.dim(0)?, x.dim(1)?, self.out_height, self.out_width))
    }
}

fn largest<T: Element>(x: &Tensor, plane: Plane) -> Result<Tensor> {
    let input = x.contiguous()?;
    let numbers = Numbers::of(&input)?;
    let from = numbers.slice::<T>()?;
    let planes = from.len() / plane.numbers();
    let count = plane.out_numbers();
    let mut places = vec![0u32; planes * count];
    let mut y = vec![T::ZERO; planes * count];
    let (outs, out_places) = (Shared::new(&mut y), Shared::new(&mut places));
    for_each_task(planes, |i| {
        // SAFETY: each plane has its own part.
        let (y, places) = unsafe {
            (
                outs.part(i * count, count),
                out_places.part(i * count, count),
            )
        };
        largest_of_plane(
            plane,
            &from[i * plane.numbers()..][..plane.numbers()],
            y,
            places,
        );
    });
    drop(numbers);
    record(&[x], y, plane.shape(x)?, || LargestBack::<T> {
        plane,
        places,
        x: x.dims().to_vec(),
        element: PhantomData,
    })
}

fn largest_of_plane<T: Element>(plane: Plane, x: &[T], y: &mut [T], places: &mut [u32]) {
    let padding = plane.windows.padding;
    let mut best = vec![T::of(f64::NEG_INFINITY); plane.padded_width()];
    let mut best_place = vec![u32::MAX; plane.padded_width()];
    let lines = y.chunks_exact_mut(plane.out_width);
    for (row, (y, places)) in lines
        .zip(places.chunks_exact_mut(plane.out_width))
        .enumerate()
    {
        let inner = padding..padding + plane.width;
        for (i, line) in plane.rows(row).enumerate() {
            let first = ((plane.rows(row).start + i) * plane.width) as u32;
            let line = &x[line * plane.width..][..plane.width];
            let (best, best_place) = (&mut best[inner.clone()], &mut best_place[inner.clone()]);
            match i {
                0 => start_with(line, first, best, best_place),
                _ => take_larger(line, first, best, best_place),
            }
        }
        largest_of_columns(plane.windows, &best, &best_place, y, places);
    }
}

fn start_with<T: Element>(line: &[T], first: u32, best: &mut [T], place: &mut [u32]) {
    best.copy_from_slice(line);
    for (place, i) in place.iter_mut().zip(first..) {
        *place = i;
    }
}

multiversion! {
    /// NaN is larger than all numbers.
    fn take_larger<T: Element>(line: &[T], first: u32, best: &mut [T], place: &mut [u32]) {
        let mut here = first;
        for ((x, best), place) in line.iter().zip(best).zip(place) {
            let larger = (*x > *best) | x.is_not_a_number();
            *best = if larger { *x } else { *best };
            *place = if larger { here } else { *place };
            here = here.wrapping_add(1);
        }
    }
}

multiversion! {
    fn largest_of_columns<T: Element>(windows: Windows, best: &[T], best_place: &[u32], y: &mut [T], places: &mut [u32]) {
        match windows.stride {
            1 => largest_of_columns_by::<T, 1>(windows, best, best_place, y, places),
            2 => largest_of_columns_by::<T, 2>(windows, best, best_place, y, places),
            _ => largest_of_columns_by::<T, 0>(windows, best, best_place, y, places),
        }
    }
}

/// For a stride that the compiler knows; 0 for any other. Of equal numbers, the first in the picture counts.
#[inline(always)]
fn largest_of_columns_by<T: Element, const STRIDE: usize>(
    windows: Windows,
    best: &[T],
    best_place: &[u32],
    y: &mut [T],
    places: &mut [u32],
) {
    let stride = if STRIDE == 0 { windows.stride } else { STRIDE };
    let count = y.len();
    let span = (count - 1) * stride + 1;
    for k in 0..windows.kernel {
        let (best, best_place) = (&best[k..][..span], &best_place[k..][..span]);
        if k == 0 {
            for i in 0..count {
                (y[i], places[i]) = (best[i * stride], best_place[i * stride]);
            }
            continue;
        }
        for i in 0..count {
            let (x, place) = (best[i * stride], best_place[i * stride]);
            let larger = (x > y[i]) | x.is_not_a_number() | ((x == y[i]) & (place < places[i]));
            y[i] = if larger { x } else { y[i] };
            places[i] = if larger { place } else { places[i] };
        }
    }
}

struct LargestBack<T> {
    plane: Plane,
    /// Where in its plane each largest number was.
    places: Vec<u32>,
    x: Vec<usize>,
    element: PhantomData<T>,
}

impl<T: Element> Backward for LargestBack<T> {
    fn backward(
        &self,
        _: Option<&Tensor>,
        gradient: &Tensor,
        _: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let numbers = Numbers::of(gradient)?;
        let g = numbers.slice::<T>()?;
        let plane = self.plane;
        let count = self.x.iter().product();
        // SAFETY: each plane is filled with zeros first.
        let of_x = unsafe {
            make(
                count,
                plane.numbers(),
                |first, out: &mut [MaybeUninit<T>]| {
                    let out = zeroed(out);
                    let from = first / plane.numbers() * plane.out_numbers();
                    let range = from..from + plane.out_numbers();
                    for (g, place) in g[range.clone()].iter().zip(&self.places[range]) {
                        out[*place as usize] += *g;
                    }
                },
            )
        };
        let of_x = Tensor::from_vec(of_x, self.x.as_slice(), gradient.device())?;
        Ok([Some(of_x), None, None])
    }
}

/// The memory, filled with zeros.
fn zeroed<T: Element>(memory: &mut [MaybeUninit<T>]) -> &mut [T] {
    for number in memory.iter_mut() {
        number.write(T::ZERO);
    }
    // SAFETY: all have just been written.
    unsafe { &mut *(std::ptr::from_mut(memory) as *mut [T]) }
}

fn means<T: Element>(x: &Tensor, plane: Plane) -> Result<Tensor> {
    let input = x.contiguous()?;
    let numbers = Numbers::of(&input)?;
    let from = numbers.slice::<T>()?;
    let planes = from.len() / plane.numbers();
    let count = plane.out_numbers();
    let mut y = vec![T::ZERO; planes * count];
    let outs = Shared::new(&mut y);
    for_each_task(planes, |i| {
        // SAFETY: each plane has its own part.
        let y = unsafe { outs.part(i * count, count) };
        means_of_plane(plane, &from[i * plane.numbers()..][..plane.numbers()], y);
    });
    drop(numbers);
    record(&[x], y, plane.shape(x)?, || MeansBack::<T> {
        plane,
        x: x.dims().to_vec(),
        element: PhantomData,
    })
}

fn means_of_plane<T: Element>(plane: Plane, x: &[T], y: &mut [T]) {
    let padding = plane.windows.padding;
    let mut sums = vec![T::ZERO; plane.padded_width()];
    for (row, y) in y.chunks_exact_mut(plane.out_width).enumerate() {
        let sums_inside = &mut sums[padding..padding + plane.width];
        sums_inside.fill(T::ZERO);
        for row in plane.rows(row) {
            add(&x[row * plane.width..][..plane.width], sums_inside);
        }
        means_of_columns(plane.windows, &sums, y);
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
    fn means_of_columns<T: Element>(windows: Windows, sums: &[T], y: &mut [T]) {
        match windows.stride {
            1 => means_of_columns_by::<T, 1>(windows, sums, y),
            2 => means_of_columns_by::<T, 2>(windows, sums, y),
            _ => means_of_columns_by::<T, 0>(windows, sums, y),
        }
    }
}

#[inline(always)]
fn means_of_columns_by<T: Element, const STRIDE: usize>(windows: Windows, sums: &[T], y: &mut [T]) {
    let stride = if STRIDE == 0 { windows.stride } else { STRIDE };
    let scale = T::ONE / T::of((windows.kernel * windows.kernel) as f64);
    let span = (y.len() - 1) * stride + 1;
    y.fill(T::ZERO);
    for k in 0..windows.kernel {
        let sums = &sums[k..][..span];
        for (i, y) in y.iter_mut().enumerate() {
            *y += sums[i * stride];
        }
    }
    for y in y.iter_mut() {
        *y *= scale;
    }
}

struct MeansBack<T> {
    plane: Plane,
    x: Vec<usize>,
    element: PhantomData<T>,
}

impl<T: Element> Backward for MeansBack<T> {
    fn backward(
        &self,
        _: Option<&Tensor>,
        gradient: &Tensor,
        _: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let numbers = Numbers::of(gradient)?;
        let g = numbers.slice::<T>()?;
        let plane = self.plane;
        let count = self.x.iter().product();
        // SAFETY: each plane is filled with zeros first.
        let of_x = unsafe {
            make(
                count,
                plane.numbers(),
                |first, out: &mut [MaybeUninit<T>]| {
                    let from = first / plane.numbers() * plane.out_numbers();
                    spread_plane(plane, &g[from..from + plane.out_numbers()], zeroed(out));
                },
            )
        };
        let of_x = Tensor::from_vec(of_x, self.x.as_slice(), gradient.device())?;
        Ok([Some(of_x), None, None])
    }
}

/// Gives each number of a window its share of the window's gradient.
fn spread_plane<T: Element>(plane: Plane, gradient: &[T], out: &mut [T]) {
    let Windows {
        kernel,
        stride,
        padding,
    } = plane.windows;
    let scale = T::ONE / T::of((kernel * kernel) as f64);
    let mut line = vec![T::ZERO; plane.padded_width()];
    for (row, gradient) in gradient.chunks_exact(plane.out_width).enumerate() {
        line.fill(T::ZERO);
        for (g, first) in gradient.iter().zip((0..).step_by(stride)) {
            let g = *g * scale;
            for number in &mut line[first..first + kernel] {
                *number += g;
            }
        }
        for row in plane.rows(row) {
            let out = &mut out[row * plane.width..][..plane.width];
            add(&line[padding..padding + plane.width], out);
        }
    }
}
