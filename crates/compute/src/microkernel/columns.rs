//! The sums of a convolution of one channel with one kernel.
//!
//! Outputs in neighbouring rows meet the same inputs with different weights. A tile has several rows, and loads each
//! vector of inputs once for all of them.

use crate::simd::{Float, Level, Vector, baseline};

/// The rows of a tile. With two vectors in each row, its sums, two vectors of inputs and the weights of a column need
/// the 16 registers of AVX2.
const TILE_ROWS: usize = 4;
/// The most weights of a column.
pub const COLUMN_WEIGHTS: usize = 5;
/// The elements of the longest vector.
const LONGEST: usize = 16;

/// Weights of a kernel that meet inputs one row apart: one column of the kernel, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// The place of the input that the first weight meets for the first output.
    pub offset: usize,
    /// The number of weights, at most [`COLUMN_WEIGHTS`].
    pub count: usize,
}

/// Some rows of outputs of a channel.
#[derive(Clone, Copy)]
pub struct Rows<'a, T> {
    /// The columns of the kernel.
    pub columns: &'a [Column],
    /// The value at which the sums begin, then the weights, column after column.
    pub weights: *const T,
    /// The inputs, from the element that the first weight multiplies for the first output.
    pub x: *const T,
    /// The distance from one row of `x` to the next.
    pub pitch: usize,
    /// The number of rows.
    pub rows: usize,
    /// The number of outputs in a row.
    pub width: usize,
    /// The outputs, row after row without gaps.
    pub out: *mut T,
}

impl<'a, T: Float> Rows<'a, T> {
    /// Returns the same rows with the element type `U`, which must be the type `T`.
    fn cast<U>(self) -> Rows<'a, U> {
        Rows {
            columns: self.columns,
            weights: self.weights.cast(),
            x: self.x.cast(),
            pitch: self.pitch,
            rows: self.rows,
            width: self.width,
            out: self.out.cast(),
        }
    }

    /// Returns the number of elements behind the last input that tiles may read: their rows beyond the last output, and
    /// vectors longer than a row.
    pub fn excess(pitch: usize) -> usize {
        TILE_ROWS * pitch + LONGEST
    }
}

/// Sets the output in row `r` and column `j` to the first value plus `Σ weight · x[offset + (r + t) · pitch + j]` over the
/// `t`-th weights of all columns.
///
/// # Safety
/// `of.weights` are valid for reads of all weights and the value before them; `of.x` for reads of the inputs of all
/// outputs and of [`Rows::excess`] elements behind them; `of.out` for writes of all outputs.
pub unsafe fn column_sums<T: Float>(of: Rows<'_, T>) {
    // SAFETY: the caller promises valid pointers and sizes. The casts keep the type, which its size names.
    // The processor has the instructions of the level that `Level::get` returns.
    unsafe {
        match (size_of::<T>(), Level::get()) {
            // Rows that are shorter than a vector would leave most of it unused.
            #[cfg(target_arch = "x86_64")]
            (4, Level::Avx512) if of.width >= 16 => x86::sums_512_f32(of.cast()),
            #[cfg(target_arch = "x86_64")]
            (4, Level::Avx512 | Level::Avx2) => x86::sums_256_f32(of.cast()),
            (4, Level::Baseline) => sums::<baseline::F32>(of.cast()),
            #[cfg(target_arch = "x86_64")]
            (_, Level::Avx512) if of.width >= 8 => x86::sums_512_f64(of.cast()),
            #[cfg(target_arch = "x86_64")]
            (_, Level::Avx512 | Level::Avx2) => x86::sums_256_f64(of.cast()),
            (_, Level::Baseline) => sums::<baseline::F64>(of.cast()),
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};

    macro_rules! compiled {
        ($($features:literal $name:ident $vector:ty, $element:ty;)*) => {$(
            /// See [`column_sums`].
            #[target_feature(enable = $features)]
            pub(super) unsafe fn $name(of: Rows<'_, $element>) {
                // SAFETY: the caller's promise is that of `sums`; the features are enabled here.
                unsafe { sums::<$vector>(of) }
            }
        )*};
    }

    compiled! {
        "avx512f" sums_512_f32 __m512, f32;
        "avx512f" sums_512_f64 __m512d, f64;
        "avx2,fma" sums_256_f32 __m256, f32;
        "avx2,fma" sums_256_f64 __m256d, f64;
    }
}

/// See [`column_sums`].
#[inline(always)]
unsafe fn sums<V: Vector>(of: Rows<'_, V::Element>) {
    // The last tile, and the last vector of a row, begin earlier and compute some outputs again.
    let (last_row, last) = (
        of.rows.saturating_sub(TILE_ROWS),
        of.width.saturating_sub(V::LANES),
    );
    for row in (0..of.rows).step_by(TILE_ROWS) {
        let row = row.min(last_row);
        let mut column = 0;
        // SAFETY: the tiles begin within the outputs; the caller's promise is theirs.
        unsafe {
            while column + V::LANES < of.width {
                tile::<V, 2>(of, row, [column, (column + V::LANES).min(last)]);
                column += 2 * V::LANES;
            }
            if column < of.width {
                tile::<V, 1>(of, row, [column.min(last)]);
            }
        }
    }
}

/// Sets the outputs of a tile, whose vectors begin at these columns.
///
/// # Safety
/// As for [`column_sums`]; `row` and `starts` are within the outputs.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "as in `microkernel::sums`")]
unsafe fn tile<V: Vector, const COUNT: usize>(
    of: Rows<'_, V::Element>,
    row: usize,
    starts: [usize; COUNT],
) {
    let total = of.rows * of.width;
    // SAFETY: the promises of `column_sums`. A vector that would end behind the outputs is stored elsewhere, and only the
    // rest of its row is copied. A vector that is longer than its row writes into rows that are written afterwards.
    unsafe {
        let sums = tile_sums::<V, COUNT>(of, row, starts);
        for r in 0..TILE_ROWS {
            if r < of.rows {
                for i in 0..COUNT {
                    let first = (row + r) * of.width + starts[i];
                    if first + V::LANES <= total {
                        sums[r][i].store(of.out.add(first));
                    } else {
                        let mut vector = [V::Element::ZERO; LONGEST];
                        sums[r][i].store(vector.as_mut_ptr());
                        let count = of.width - starts[i];
                        (of.out.add(first)).copy_from_nonoverlapping(vector.as_ptr(), count);
                    }
                }
            }
        }
    }
}

/// Returns the sums of a tile.
///
/// # Safety
/// As for [`tile`].
#[inline(always)]
unsafe fn tile_sums<V: Vector, const COUNT: usize>(
    of: Rows<'_, V::Element>,
    row: usize,
    starts: [usize; COUNT],
) -> [[V; COUNT]; TILE_ROWS] {
    // SAFETY: the promises of `column_sums`: each column has as many weights as it counts.
    unsafe {
        let mut sums = [[V::splat(*of.weights); COUNT]; TILE_ROWS];
        let mut weights = of.weights.add(1);
        for column in of.columns {
            let x = of.x.add(column.offset + row * of.pitch);
            let xs = starts.map(|start| x.wrapping_add(start));
            match column.count {
                1 => add::<V, 1, COUNT>(&mut sums, weights, xs, of.pitch),
                2 => add::<V, 2, COUNT>(&mut sums, weights, xs, of.pitch),
                3 => add::<V, 3, COUNT>(&mut sums, weights, xs, of.pitch),
                4 => add::<V, 4, COUNT>(&mut sums, weights, xs, of.pitch),
                5 => add::<V, 5, COUNT>(&mut sums, weights, xs, of.pitch),
                count => unreachable!("a column has no {count} weights"),
            }
            weights = weights.add(column.count);
        }
        sums
    }
}

/// Adds the products with the weights of a column.
///
/// # Safety
/// As for [`tile`].
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "as in `microkernel::sums`")]
unsafe fn add<V: Vector, const WEIGHTS: usize, const COUNT: usize>(
    sums: &mut [[V; COUNT]; TILE_ROWS],
    weights: *const V::Element,
    xs: [*const V::Element; COUNT],
    pitch: usize,
) {
    // SAFETY: the promises of `column_sums`.
    unsafe {
        let mut factors = [V::splat(V::Element::ZERO); WEIGHTS];
        for t in 0..WEIGHTS {
            factors[t] = V::splat(*weights.add(t));
        }
        // Adds what the inputs of each of these rows, counted from the tile's first, contribute to the tile. Not a loop: the
        // sums stay in registers only if each index is known.
        macro_rules! rows {
            ($($i:literal)*) => {$(
                if $i < TILE_ROWS + WEIGHTS - 1 {
                    for i in 0..COUNT {
                        let x = V::load(xs[i].wrapping_add($i * pitch));
                        for t in 0..WEIGHTS {
                            if let Some(r) = usize::checked_sub($i, t)
                                && r < TILE_ROWS
                            {
                                sums[r][i] = factors[t].multiply_add(x, sums[r][i]);
                            }
                        }
                    }
                }
            )*};
        }
        rows!(0 1 2 3 4 5 6 7);
    }
}
