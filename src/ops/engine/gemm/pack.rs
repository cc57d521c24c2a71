//! Packing: the columns of a matrix in panels of a tile's width.

use super::matrix::Matrix;
use crate::ops::engine::simd::{Element, multiversion};

/// Packs `width` columns of `b` into a panel, with zeros up to the tile's columns.
pub(super) fn pack<T: Element>(
    b: Matrix<T>,
    column: usize,
    width: usize,
    tile_columns: usize,
    packed: &mut [T],
) {
    if b.row_step == 1 {
        return pack_transposed(
            &b.values[column * b.column_step..],
            b.column_step,
            width,
            tile_columns,
            packed,
        );
    }
    for (k, line) in packed.chunks_exact_mut(tile_columns).enumerate() {
        let start = k * b.row_step + column * b.column_step;
        match b.column_step {
            1 => line[..width].copy_from_slice(&b.values[start..start + width]),
            step => {
                for (value, from) in line[..width].iter_mut().zip((start..).step_by(step)) {
                    *value = b.values[from];
                }
            }
        }
        line[width..].fill(T::ZERO);
    }
}

/// The side of the squares that are transposed at once.
const SQUARE: usize = 8;

multiversion! {
    /// Packs columns whose elements are contiguous, which transposes them. `pitch` is the distance from
    /// one column to the next, `tile_columns` the length of a packed line.
    pub(in crate::ops) fn pack_transposed<T: Element>(columns: &[T], pitch: usize, width: usize, tile_columns: usize, packed: &mut [T]) {
        let depth = packed.len() / tile_columns;
        let (squares, even) = (width / SQUARE * SQUARE, depth / SQUARE * SQUARE);
        for k in (0..even).step_by(SQUARE) {
            let lines = &mut packed[k * tile_columns..][..SQUARE * tile_columns];
            for column in (0..squares).step_by(SQUARE) {
                let mut square = [[T::ZERO; SQUARE]; SQUARE];
                for (i, column_part) in square.iter_mut().enumerate() {
                    column_part.copy_from_slice(&columns[(column + i) * pitch + k..][..SQUARE]);
                }
                for (i, line) in lines.chunks_exact_mut(tile_columns).enumerate() {
                    let mut transposed = [T::ZERO; SQUARE];
                    for j in 0..SQUARE {
                        transposed[j] = square[j][i];
                    }
                    line[column..column + SQUARE].copy_from_slice(&transposed);
                }
            }
        }
        for (k, line) in packed.chunks_exact_mut(tile_columns).enumerate() {
            let first = if k < even { squares } else { 0 };
            for column in first..width {
                line[column] = columns[column * pitch + k];
            }
            line[width..].fill(T::ZERO);
        }
    }
}
