//! The innermost loops of the convolution and of the matrix product.
//!
//! A *tile* is a block of the output whose sums stay in registers: some rows, each of a few vectors.
//! Images lie flat in memory: one row follows the other with a fixed pitch, so an element of the
//! convolution's kernel is one fixed offset for all positions, in whatever row they are.

mod columns;
mod operands;

pub use columns::{COLUMN_WEIGHTS, Column, Rows, column_sums};
pub use operands::{Sums, TileSize, Weights, lanes, tile_shape};

use crate::simd::{Float, Level, Vector, baseline};

/// The offsets in a tile of [`correlations`].
pub const OFFSETS: usize = 3;

/// Returns the rows of a full tile of [`correlations`].
#[inline]
pub fn correlation_rows() -> usize {
    match Level::get() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => 8,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => 3,
        Level::Baseline => 3,
    }
}

/// Sets `out[m][j]` to `Σₖ weights[m][k] · x[offsets[k] + j]`, plus `out.added` if there is one, for the rows `m`
/// and columns `j` of the size.
///
/// # Safety
/// The size has `0 < rows <= tile_shape::<T>().0`; `weights` are valid for reads of each of these rows at
/// `offsets.len()` steps; `x` for reads of the size's vectors at each offset; `out` for writes of the size's
/// vectors in each row, and `out.added` for reads of them.
#[inline(always)] // Otherwise the structs are copied to the stack, and reading them waits for the last tile's sums.
pub unsafe fn weighted_sums<T: Float>(
    size: TileSize,
    weights: Weights<T>,
    offsets: &[usize],
    x: *const T,
    out: Sums<T>,
) {
    // SAFETY: the caller promises valid pointers and sizes. The casts keep the type, which its size
    // names. The processor has the instructions of the level that `Level::get` returns.
    unsafe {
        match size_of::<T>() {
            4 => {
                let (weights, x, out) = (weights.cast(), x.cast(), out.cast());
                match Level::get() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => x86::sums_512_f32(size, weights, offsets, x, out),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => x86::sums_256_f32(size, weights, offsets, x, out),
                    Level::Baseline => {
                        sums_by_4::<baseline::F32>(size, weights, offsets, x, out);
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
                        sums_by_4::<baseline::F64>(size, weights, offsets, x, out);
                    }
                }
            }
        }
    }
}

/// The memory layout of the images that [`correlations`] reads.
#[derive(Clone, Copy)]
pub struct Images {
    /// The number of images.
    pub count: usize,
    /// Elements of each image, a multiple of 16.
    pub length: usize,
    /// The distance from one image of `x` to the next.
    pub x_step: usize,
    /// The distance from one image of `y` to the next.
    pub y_step: usize,
}

/// Adds `Σₚ y[m · pitch + p] · x[offsets[i] + p]`, over all positions `p` of all images, to `out[m][i]`
/// for `rows` rows `m`. A row of `out` has [`OFFSETS`] elements.
///
/// # Safety
/// `0 < rows <= correlation_rows()`. For each image, `y` is valid for `length` reads from the start of
/// each row, and `x` from each offset; `out` is valid for `rows * OFFSETS` reads and writes.
pub unsafe fn correlations<T: Float>(
    rows: usize,
    images: Images,
    y: *const T,
    pitch: usize,
    x: *const T,
    offsets: &[usize; OFFSETS],
    out: *mut T,
) {
    // SAFETY: the caller promises valid pointers and sizes. The casts keep the type, which its size
    // names. The processor has the instructions of the level that `Level::get` returns.
    unsafe {
        match size_of::<T>() {
            4 => {
                let (y, x, out) = (y.cast(), x.cast(), out.cast());
                match Level::get() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => {
                        x86::correlate_512_f32(rows, images, y, pitch, x, offsets, out)
                    }
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => x86::correlate_256_f32(rows, images, y, pitch, x, offsets, out),
                    Level::Baseline => {
                        correlate_by_3::<baseline::F32>(rows, images, y, pitch, x, offsets, out)
                    }
                }
            }
            _ => {
                let (y, x, out) = (y.cast(), x.cast(), out.cast());
                match Level::get() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => {
                        x86::correlate_512_f64(rows, images, y, pitch, x, offsets, out)
                    }
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => x86::correlate_256_f64(rows, images, y, pitch, x, offsets, out),
                    Level::Baseline => {
                        correlate_by_3::<baseline::F64>(rows, images, y, pitch, x, offsets, out)
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
            pub(super) unsafe fn $sums(
                size: TileSize,
                weights: Weights<$element>,
                offsets: &[usize],
                x: *const $element,
                out: Sums<$element>,
            ) {
                // SAFETY: the caller's promise is the body's; the features are enabled here.
                unsafe { $sum_body::<$vector>(size, weights, offsets, x, out) }
            }

            /// See [`correlations`].
            #[target_feature(enable = $features)]
            pub(super) unsafe fn $correlate(
                rows: usize,
                images: Images,
                y: *const $element,
                pitch: usize,
                x: *const $element,
                offsets: &[usize; OFFSETS],
                out: *mut $element,
            ) {
                // SAFETY: the caller's promise is the body's; the features are enabled here.
                unsafe { $correlate_body::<$vector>(rows, images, y, pitch, x, offsets, out) }
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
        sums_256_f32 = sums_by_6,
        correlate_256_f32 = correlate_by_3
    );
    compiled!(
        "avx2,fma",
        __m256d,
        f64,
        sums_256_f64 = sums_by_6,
        correlate_256_f64 = correlate_by_3
    );
}

/// Calls the body compiled for this number of rows: the compiler keeps all sums in registers only if
/// it knows the number.
macro_rules! by_rows {
    ($rows:expr, $body:ident, [$($count:literal)*], $vectors:tt, $arguments:tt) => {
        match $rows {
            $($count => $body::<V, $count, $vectors> $arguments,)*
            rows => unreachable!("a tile has no {rows} rows"),
        }
    };
}

macro_rules! sums_by {
    ($name:ident, $rows:tt, [$($vectors:literal)*]) => {
        #[inline(always)]
        unsafe fn $name<V: Vector>(
            size: TileSize,
            weights: Weights<V::Element>,
            offsets: &[usize],
            x: *const V::Element,
            out: Sums<V::Element>,
        ) {
            // SAFETY: the caller's promise is the body's.
            unsafe {
                match size.vectors {
                    $($vectors => by_rows!(size.rows, sums, $rows, $vectors, (weights, offsets, x, out)),)*
                    vectors => unreachable!("a tile has no {vectors} vectors"),
                }
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
sums_by!(sums_by_8, [1 2 3 4 5 6 7 8], [1 2 3]);
#[cfg(target_arch = "x86_64")]
sums_by!(sums_by_6, [1 2 3 4 5 6], [1 2]);
sums_by!(sums_by_4, [1 2 3 4], [1 2 3]);

macro_rules! correlate_by {
    ($name:ident, $counts:tt) => {
        #[inline(always)]
        unsafe fn $name<V: Vector>(
            rows: usize,
            images: Images,
            y: *const V::Element,
            pitch: usize,
            x: *const V::Element,
            offsets: &[usize; OFFSETS],
            out: *mut V::Element,
        ) {
            // SAFETY: the caller's promise is the body's.
            unsafe {
                by_rows!(
                    rows,
                    correlate,
                    $counts,
                    OFFSETS,
                    (images, y, pitch, x, offsets, out)
                )
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
correlate_by!(correlate_by_8, [1 2 3 4 5 6 7 8]);
correlate_by!(correlate_by_3, [1 2 3]);

/// See [`weighted_sums`].
///
/// The loops use indices, because LLVM unrolls them early enough to keep the arrays in registers. Loops over the
/// arrays' iterators need ThinLTO for that: without it they took up to 20 times as long.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "see above")]
unsafe fn sums<V: Vector, const ROWS: usize, const COUNT: usize>(
    weights: Weights<V::Element>,
    offsets: &[usize],
    x: *const V::Element,
    out: Sums<V::Element>,
) {
    // SAFETY: the promises of `weighted_sums`: each read and write is within the ranges named there.
    unsafe {
        let mut sums = [[V::splat(V::Element::ZERO); COUNT]; ROWS];
        let mut weight = weights.start;
        for &offset in offsets {
            let x = x.add(offset);
            let mut values = [V::splat(V::Element::ZERO); COUNT];
            for i in 0..COUNT {
                values[i] = V::load(x.add(i * V::LANES));
            }
            for m in 0..ROWS {
                let weight = V::splat(*weight.add(m * weights.row_step));
                for i in 0..COUNT {
                    sums[m][i] = weight.multiply_add(values[i], sums[m][i]);
                }
            }
            weight = weight.wrapping_add(weights.step);
        }
        if let Some((added, pitch)) = out.added {
            for m in 0..ROWS {
                for i in 0..COUNT {
                    let added = V::load(added.add(m * pitch + i * V::LANES));
                    sums[m][i] = sums[m][i].multiply_add(V::splat(V::Element::ONE), added);
                }
            }
        }
        for m in 0..ROWS {
            for i in 0..COUNT {
                sums[m][i].store(out.start.add(m * out.pitch + i * V::LANES));
            }
        }
    }
}

/// See [`correlations`].
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "see `sums`")]
unsafe fn correlate<V: Vector, const ROWS: usize, const COUNT: usize>(
    images: Images,
    y: *const V::Element,
    pitch: usize,
    x: *const V::Element,
    offsets: &[usize; COUNT],
    out: *mut V::Element,
) {
    // SAFETY: the promises of `correlations`: each read and write is within the ranges named there.
    unsafe {
        let mut sums = [[V::splat(V::Element::ZERO); COUNT]; ROWS];
        for image in 0..images.count {
            let y = y.add(image * images.y_step);
            let x = x.add(image * images.x_step);
            let mut p = 0;
            while p < images.length {
                // These and the sums stay in registers; each vector of `y` is loaded once.
                let mut values = [V::splat(V::Element::ZERO); COUNT];
                for i in 0..COUNT {
                    values[i] = V::load(x.add(offsets[i] + p));
                }
                for m in 0..ROWS {
                    let y = V::load(y.add(m * pitch + p));
                    for i in 0..COUNT {
                        sums[m][i] = y.multiply_add(values[i], sums[m][i]);
                    }
                }
                p += V::LANES;
            }
        }
        for m in 0..ROWS {
            for i in 0..COUNT {
                *out.add(m * COUNT + i) += sums[m][i].sum();
            }
        }
    }
}
