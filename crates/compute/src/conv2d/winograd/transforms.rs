//! The transforms of the weights, the pixels and the sums.
//!
//! The loops work on blocks in arrays, which the compiler keeps in registers: loops over that many slices would
//! not be vectorised, because the slices might overlap.

use crate::simd::{Float, multiversion};

/// The number of values to which a kernel, or the 4×4 pixels of a square, are transformed.
pub(super) const VALUES: usize = 16;
/// The squares that are transformed together. Buffers have room for whole blocks.
pub(super) const BLOCK: usize = 16;

multiversion! {
    /// Transforms every `step`-th of some kernels of 9 weights. If `rotated`, each kernel is rotated by 180° first.
    pub(super) fn weights<T: Float>(kernels: &[T], step: usize, rotated: bool, to: [&mut [T]; VALUES]) {
        let (kernels, _) = kernels.as_chunks::<9>();
        for i in 0..to[0].len() {
            let mut kernel = kernels[i * step];
            if rotated {
                kernel.reverse();
            }
            let mut columns = [[T::ZERO; 4]; 3];
            for c in 0..3 {
                columns[c] = spread([kernel[c], kernel[3 + c], kernel[6 + c]]);
            }
            for row in 0..4 {
                let values = spread([columns[0][row], columns[1][row], columns[2][row]]);
                for column in 0..4 {
                    to[4 * row + column][i] = values[column];
                }
            }
        }
    }
}

/// Returns the transform of a row or column of a kernel.
#[inline(always)]
fn spread<T: Float>([a, b, c]: [T; 3]) -> [T; 4] {
    let half = T::of(0.5);
    let ends = (a + c) * half;
    [a, ends + b * half, ends - b * half, c]
}

multiversion! {
    /// Transforms the pixels of `count` adjacent squares, in 4 lines of the same length. The values of the first
    /// square go to index `first` of 16 matrices, which follow each other.
    pub(super) fn input<T: Float>(lines: &[T], count: usize, matrices: &mut [T], first: usize, matrix: usize) {
        let length = lines.len() / 4;
        for start in (0..count).step_by(BLOCK) {
            for row in 0..4 {
                let (plus, minus, sign) = match row {
                    0 => (0, 2, -T::ONE),
                    1 => (1, 2, T::ONE),
                    2 => (2, 1, -T::ONE),
                    _ => (1, 3, -T::ONE),
                };
                let plus = &lines[plus * length + 2 * start..][..2 * BLOCK + 2];
                let minus = &lines[minus * length + 2 * start..][..2 * BLOCK + 2];
                let mut pixels = [[T::ZERO; BLOCK]; 4];
                for i in 0..BLOCK {
                    pixels[0][i] = plus[2 * i] + sign * minus[2 * i];
                    pixels[1][i] = plus[2 * i + 1] + sign * minus[2 * i + 1];
                }
                for i in 0..BLOCK {
                    pixels[2][i] = plus[2 * i + 2] + sign * minus[2 * i + 2];
                    pixels[3][i] = plus[2 * i + 3] + sign * minus[2 * i + 3];
                }
                let mut values = [[T::ZERO; BLOCK]; 4];
                for i in 0..BLOCK {
                    values[0][i] = pixels[0][i] - pixels[2][i];
                    values[1][i] = pixels[1][i] + pixels[2][i];
                    values[2][i] = pixels[2][i] - pixels[1][i];
                    values[3][i] = pixels[1][i] - pixels[3][i];
                }
                for (column, values) in values.iter().enumerate() {
                    let to = (4 * row + column) * matrix + first + start;
                    matrices[to..to + BLOCK].copy_from_slice(values);
                }
            }
        }
    }
}

multiversion! {
    /// Transforms the 16 sums of each square to its outputs, in an upper and a lower line.
    pub(super) fn output<T: Float>(sums: [&[T]; VALUES], bias: T, upper: &mut [T], lower: &mut [T]) {
        let (upper, _) = upper.as_chunks_mut::<{ 2 * BLOCK }>();
        let (lower, _) = lower.as_chunks_mut::<{ 2 * BLOCK }>();
        for (block, (upper, lower)) in upper.iter_mut().zip(lower).enumerate() {
            let mut up = [[T::ZERO; BLOCK]; 4];
            let mut low = [[T::ZERO; BLOCK]; 4];
            for column in 0..4 {
                let a = &sums[column][block * BLOCK..][..BLOCK];
                let b = &sums[4 + column][block * BLOCK..][..BLOCK];
                let c = &sums[8 + column][block * BLOCK..][..BLOCK];
                let d = &sums[12 + column][block * BLOCK..][..BLOCK];
                for i in 0..BLOCK {
                    up[column][i] = a[i] + b[i] + c[i];
                    low[column][i] = b[i] - c[i] - d[i];
                }
            }
            for i in 0..BLOCK {
                upper[2 * i] = up[0][i] + up[1][i] + up[2][i] + bias;
                upper[2 * i + 1] = up[1][i] - up[2][i] - up[3][i] + bias;
            }
            for i in 0..BLOCK {
                lower[2 * i] = low[0][i] + low[1][i] + low[2][i] + bias;
                lower[2 * i + 1] = low[1][i] - low[2][i] - low[3][i] + bias;
            }
        }
    }
}
