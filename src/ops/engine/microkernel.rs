//! The innermost loops of the convolution, and of the product of matrices.
//!
//! Both work on pictures laid out flat: the row of a picture follows the one above with a fixed pitch,
//! so that one step of the window is one fixed offset for all places, whatever row they are in.

use crate::ops::engine::simd::{Element, Level, Plain, Vector};

/// Vectors in a tile of [`weighted_sums`].
const WIDE: usize = 3;
/// Window places in a tile of [`correlations`].
pub(in crate::ops) const PLACES: usize = 3;

/// How many rows a tile of [`weighted_sums`] has at most, and how many places.
pub(in crate::ops) fn tile_shape<T: Element>() -> (usize, usize) {
    let bytes = size_of::<T>();
    match Level::get() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => (8, WIDE * 64 / bytes),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => (4, WIDE * 32 / bytes),
        Level::Baseline => (4, WIDE * 16 / bytes),
    }
}

/// The numbers in a vector of [`weighted_sums`].
pub(in crate::ops) fn lanes<T: Element>() -> usize {
    tile_shape::<T>().1 / WIDE
}

/// How many rows a tile of [`correlations`] has at most.
pub(in crate::ops) fn correlated_rows() -> usize {
    match Level::get() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => 8,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => 3,
        Level::Baseline => 3,
    }
}

/// How much of a tile is computed.
#[derive(Clone, Copy)]
pub(in crate::ops) struct Size {
    rows: usize,
    /// Vectors in a row.
    wide: usize,
}

impl Size {
    /// `rows` rows, and whole vectors for at least `places` places, a tile's at most.
    pub(in crate::ops) fn of<T: Element>(rows: usize, places: usize) -> Self {
        let wide = places.div_ceil(lanes::<T>()).clamp(1, WIDE);
        Size { rows, wide }
    }
}

/// The weight of row `m` at step `k` is at `start[m * row_step + k * step]`.
#[derive(Clone, Copy)]
pub(in crate::ops) struct Weights<T> {
    pub(in crate::ops) start: *const T,
    pub(in crate::ops) row_step: usize,
    pub(in crate::ops) step: usize,
}

impl<T> Weights<T> {
    /// The same numbers under the name of their type.
    fn cast<U>(self) -> Weights<U> {
        Weights {
            start: self.start.cast(),
            row_step: self.row_step,
            step: self.step,
        }
    }
}

/// `out[m][j] = Σₖ weights[k][m] · x[offsets[k] + j]` for the rows `m` and places `j` of the size; a
/// row of `out` has a tile's places.
///
/// # Safety
/// With `(most, places) = tile_shape::<T>()`: the size has `0 < rows <= most` rows; `weights` are good
/// for reads of all of them at `offsets.len()` steps; `x` for reads of the size's vectors at each
/// offset; `out` for `rows * places` writes.
pub(in crate::ops) unsafe fn weighted_sums<T: Element>(
    size: Size,
    weights: Weights<T>,
    offsets: &[usize],
    x: *const T,
    out: *mut T,
) {
    // SAFETY: the caller's promise, and the level says which instructions there are.
    unsafe {
        match T::DTYPE {
            candle_core::DType::F32 => {
                let (weights, x, out) = (weights.cast(), x.cast(), out.cast());
                match Level::get() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => x86::sums_512_f32(size, weights, offsets, x, out),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => x86::sums_256_f32(size, weights, offsets, x, out),
                    Level::Baseline => {
                        sums_by_4::<Plain<f32, 4>>(size, weights, offsets, x, out);
                    }
                }
            }
            _ => {
                let (weights, x, out) = (weights.cast(), x.cast(), out.cast());
                match Level::get() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => x86::sums_512_f64(size, weights, offsets, x, out),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => x86::sums_256_f64(size, weights, offsets, x, out),
                    Level::Baseline => {
                        sums_by_4::<Plain<f64, 2>>(size, weights, offsets, x, out);
                    }
                }
            }
        }
    }
}

/// Where the numbers of [`correlations`] lie.
#[derive(Clone, Copy)]
pub(in crate::ops) struct Pictures {
    pub(in crate::ops) count: usize,
    /// Numbers in each picture, a multiple of 16.
    pub(in crate::ops) length: usize,
    /// From one picture to the next.
    pub(in crate::ops) x_step: usize,
    pub(in crate::ops) y_step: usize,
}

/// `out[m][i] += Σₚ y[m · pitch + p] · x[offsets[i] + p]` over all places `p` of all pictures, for
/// `rows` rows `m`; a row of `out` has [`PLACES`] numbers.
///
/// # Safety
/// `0 < rows <= correlated_rows()`. For each picture, `y` is good for `length` reads at each row's
/// start, and `x` at each offset; `out` for `rows * PLACES` numbers.
pub(in crate::ops) unsafe fn correlations<T: Element>(
    rows: usize,
    pictures: Pictures,
    y: *const T,
    pitch: usize,
    x: *const T,
    offsets: &[usize; PLACES],
    out: *mut T,
) {
    // SAFETY: the caller's promise, and the level says which instructions there are.
    unsafe {
        match T::DTYPE {
            candle_core::DType::F32 => {
                let (y, x, out) = (y.cast(), x.cast(), out.cast());
                match Level::get() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => {
                        x86::correlate_512_f32(rows, pictures, y, pitch, x, offsets, out)
                    }
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => {
                        x86::correlate_256_f32(rows, pictures, y, pitch, x, offsets, out)
                    }
                    Level::Baseline => {
                        correlate_by_3::<Plain<f32, 4>>(rows, pictures, y, pitch, x, offsets, out)
                    }
                }
            }
            _ => {
                let (y, x, out) = (y.cast(), x.cast(), out.cast());
                match Level::get() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => {
                        x86::correlate_512_f64(rows, pictures, y, pitch, x, offsets, out)
                    }
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => {
                        x86::correlate_256_f64(rows, pictures, y, pitch, x, offsets, out)
                    }
                    Level::Baseline => {
                        correlate_by_3::<Plain<f64, 2>>(rows, pictures, y, pitch, x, offsets, out)
                    }
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};

    macro_rules! compiled {
        ($features:literal, $vector:ty, $element:ty, $sums:ident = $sum_body:ident, $correlate:ident = $correlate_body:ident) => {
            /// See [`weighted_sums`].
            #[target_feature(enable = $features)]
            pub(in crate::ops) unsafe fn $sums(
                size: Size,
                weights: Weights<$element>,
                offsets: &[usize],
                x: *const $element,
                out: *mut $element,
            ) {
                // SAFETY: passed on.
                unsafe { $sum_body::<$vector>(size, weights, offsets, x, out) }
            }

            /// See [`correlations`].
            #[target_feature(enable = $features)]
            pub(in crate::ops) unsafe fn $correlate(
                rows: usize,
                pictures: Pictures,
                y: *const $element,
                pitch: usize,
                x: *const $element,
                offsets: &[usize; PLACES],
                out: *mut $element,
            ) {
                // SAFETY: passed on.
                unsafe { $correlate_body::<$vector>(rows, pictures, y, pitch, x, offsets, out) }
            }
        };
    }

    compiled!(
        "avx512f",
        __m512,
        f32,
        sums_512_f32 = sums_by_8,
        correlate_512_f32 = correlate_by_8
    );
    compiled!(
        "avx512f",
        __m512d,
        f64,
        sums_512_f64 = sums_by_8,
        correlate_512_f64 = correlate_by_8
    );
    compiled!(
        "avx2,fma",
        __m256,
        f32,
        sums_256_f32 = sums_by_4,
        correlate_256_f32 = correlate_by_3
    );
    compiled!(
        "avx2,fma",
        __m256d,
        f64,
        sums_256_f64 = sums_by_4,
        correlate_256_f64 = correlate_by_3
    );
}

/// One body for each number of rows, in which the compiler can keep all sums in registers.
macro_rules! by_rows {
    ($rows:expr, $body:ident, [$($count:literal)*], $wide:tt, $arguments:tt) => {
        match $rows {
            $($count => $body::<V, $count, $wide> $arguments,)*
            rows => unreachable!("a tile has no {rows} rows"),
        }
    };
}

macro_rules! sums_by {
    ($name:ident, $counts:tt) => {
        #[inline(always)]
        unsafe fn $name<V: Vector>(
            size: Size,
            weights: Weights<V::Element>,
            offsets: &[usize],
            x: *const V::Element,
            out: *mut V::Element,
        ) {
            // SAFETY: passed on.
            unsafe {
                match size.wide {
                    1 => by_rows!(size.rows, sums, $counts, 1, (weights, offsets, x, out)),
                    2 => by_rows!(size.rows, sums, $counts, 2, (weights, offsets, x, out)),
                    _ => by_rows!(size.rows, sums, $counts, WIDE, (weights, offsets, x, out)),
                }
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
sums_by!(sums_by_8, [1 2 3 4 5 6 7 8]);
sums_by!(sums_by_4, [1 2 3 4]);

macro_rules! correlate_by {
    ($name:ident, $counts:tt) => {
        #[inline(always)]
        unsafe fn $name<V: Vector>(
            rows: usize,
            pictures: Pictures,
            y: *const V::Element,
            pitch: usize,
            x: *const V::Element,
            offsets: &[usize; PLACES],
            out: *mut V::Element,
        ) {
            // SAFETY: passed on.
            unsafe {
                by_rows!(
                    rows,
                    correlate,
                    $counts,
                    PLACES,
                    (pictures, y, pitch, x, offsets, out)
                )
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
correlate_by!(correlate_by_8, [1 2 3 4 5 6 7 8]);
correlate_by!(correlate_by_3, [1 2 3]);

/// See [`weighted_sums`].
#[inline(always)]
unsafe fn sums<V: Vector, const ROWS: usize, const COUNT: usize>(
    weights: Weights<V::Element>,
    offsets: &[usize],
    x: *const V::Element,
    out: *mut V::Element,
) {
    // SAFETY: the promise of `weighted_sums`.
    unsafe {
        let mut sums = [[V::splat(V::Element::ZERO); COUNT]; ROWS];
        let mut weight = weights.start;
        for &offset in offsets {
            let x = x.add(offset);
            let mut values = [V::splat(V::Element::ZERO); COUNT];
            for (i, value) in values.iter_mut().enumerate() {
                *value = V::load(x.add(i * V::LANES));
            }
            for (m, sums) in sums.iter_mut().enumerate() {
                let weight = V::splat(*weight.add(m * weights.row_step));
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = weight.multiply_add(value, *sum);
                }
            }
            weight = weight.wrapping_add(weights.step);
        }
        for (m, sums) in sums.iter().enumerate() {
            for (i, sum) in sums.iter().enumerate() {
                sum.store(out.add((m * WIDE + i) * V::LANES));
            }
        }
    }
}

/// See [`correlations`].
#[inline(always)]
unsafe fn correlate<V: Vector, const ROWS: usize, const COUNT: usize>(
    pictures: Pictures,
    y: *const V::Element,
    pitch: usize,
    x: *const V::Element,
    offsets: &[usize; COUNT],
    out: *mut V::Element,
) {
    // SAFETY: the promise of `correlations`.
    unsafe {
        let mut sums = [[V::splat(V::Element::ZERO); COUNT]; ROWS];
        for picture in 0..pictures.count {
            let y = y.add(picture * pictures.y_step);
            let x = x.add(picture * pictures.x_step);
            let mut p = 0;
            while p < pictures.length {
                // These stay in registers, with the sums; each number of `y` comes and goes.
                let mut values = [V::splat(V::Element::ZERO); COUNT];
                for (value, offset) in values.iter_mut().zip(offsets) {
                    *value = V::load(x.add(offset + p));
                }
                for (m, sums) in sums.iter_mut().enumerate() {
                    let y = V::load(y.add(m * pitch + p));
                    for (sum, value) in sums.iter_mut().zip(values) {
                        *sum = y.multiply_add(value, *sum);
                    }
                }
                p += V::LANES;
            }
        }
        for (m, sums) in sums.iter().enumerate() {
            for (i, sum) in sums.iter().enumerate() {
                *out.add(m * COUNT + i) += sum.sum();
            }
        }
    }
}
