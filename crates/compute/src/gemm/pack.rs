//! Packing: the columns of a matrix in panels of a tile's width.

use super::matrix::Matrix;
use crate::microkernel;
use crate::simd::{Float, multiversion};

/// Packs `width` columns of `b` into a panel, with zeros up to the tile's columns.
pub(super) fn pack<T: Float>(b: Matrix<T>, column: usize, width: usize, packed: &mut [T]) {
    let (_, tile_columns) = microkernel::tile_shape::<T>();
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
/// The length up to which all squares of some columns are transposed before the next columns. With longer columns, all
/// squares of some lines are transposed before the next lines.
const SHORT: usize = 128;

multiversion! {
    /// Packs columns whose elements are contiguous, which transposes them. `pitch` is the distance from
    /// one column to the next, `tile_columns` the length of a packed line.
    pub fn pack_transposed<T: Float>(columns: &[T], pitch: usize, width: usize, tile_columns: usize, packed: &mut [T]) {
        let depth = packed.len() / tile_columns;
        let (squares, even) = (width / SQUARE * SQUARE, depth / SQUARE * SQUARE);
        let short = even <= SHORT;
        let (outer, inner) = if short { (squares, even) } else { (even, squares) };
        for i in (0..outer).step_by(SQUARE) {
            for j in (0..inner).step_by(SQUARE) {
                let (column, k) = if short { (i, j) } else { (j, i) };
                let lines = &mut packed[k * tile_columns..][..SQUARE * tile_columns];
                for (k, line) in (k..).zip(lines.chunks_exact_mut(tile_columns)) {
                    for (j, value) in line[column..column + SQUARE].iter_mut().enumerate() {
                        *value = columns[(column + j) * pitch + k];
                    }
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
