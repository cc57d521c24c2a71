//! The product of two strided matrices.
//!
//! The columns of the right matrix are packed into panels of a tile's width, which stay in the cache;
//! the left matrix is read where it is. Tasks compute blocks of the product: a panel's columns, and the
//! rows of some tiles.

use super::scratch::with_scratch;
use super::shared_slice::{SharedSlice, vec_filled_by};
use super::simd::{Element, multiversion};
use super::threads::for_each_task;
use super::{microkernel, split_evenly};
use std::mem::MaybeUninit;

/// The largest depth of one pass over a panel, so that this part of it stays in the L2 cache.
const DEPTH: usize = 512;
/// The least number of parts into which work is split, if there are enough tiles.
const PARTS: usize = 8;

/// A strided matrix: its elements are `values[row * row_step + column * column_step]`.
#[derive(Clone, Copy)]
pub(in crate::ops) struct Matrix<'a, T> {
    pub(in crate::ops) values: &'a [T],
    pub(in crate::ops) row_step: usize,
    pub(in crate::ops) column_step: usize,
}

impl<'a, T: Element> Matrix<'a, T> {
    /// Returns the matrix whose rows of `columns` elements follow each other.
    pub(in crate::ops) fn of_rows(values: &'a [T], columns: usize) -> Self {
        Matrix {
            values,
            row_step: columns,
            column_step: 1,
        }
    }

    pub(in crate::ops) fn transposed(self) -> Self {
        Matrix {
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }

    fn check(&self, rows: usize, columns: usize) {
        if rows > 0 && columns > 0 {
            let last = (rows - 1) * self.row_step + (columns - 1) * self.column_step;
            assert!(last < self.values.len(), "a matrix ends outside its values");
        }
    }
}

/// Returns the rows of `a · b`, where `a` is `rows × depth` and `b` is `depth × columns`, with `bias`
/// added to each row.
///
/// # Panics
/// If the matrices do not have these sizes.
pub(in crate::ops) fn product<T: Element>(
    [rows, depth, columns]: [usize; 3],
    a: Matrix<T>,
    b: Matrix<T>,
    bias: Option<&[T]>,
) -> Vec<T> {
    if rows == 0 || columns == 0 {
        return Vec::new();
    }
    a.check(rows, depth);
    b.check(depth, columns);
    let (most, tile_columns) = microkernel::tile_shape::<T>();
    let tiles = split_evenly(rows, most);
    let panels = columns.div_ceil(tile_columns);
    let blocks = PARTS.div_ceil(panels).min(tiles.len());
    with_scratch(panels * depth * tile_columns, |packed: &mut [T]| {
        let shared = SharedSlice::new(packed);
        for_each_task(panels, |panel| {
            let width = tile_columns.min(columns - panel * tile_columns);
            // SAFETY: each task packs its own panel, and the panels do not overlap.
            let packed = unsafe { shared.part(panel * depth * tile_columns, depth * tile_columns) };
            pack(b, panel * tile_columns, width, tile_columns, packed);
        });
        let packed = &*packed;
        let work = |panel: usize, block: usize, out: SharedSlice<MaybeUninit<T>>| {
            let (first, end) = (
                block * tiles.len() / blocks,
                (block + 1) * tiles.len() / blocks,
            );
            let block = Block {
                row: tiles[..first].iter().sum(),
                tiles: &tiles[first..end],
                depth,
                column: panel * tile_columns,
                columns,
            };
            let packed = &packed[panel * depth * tile_columns..][..depth * tile_columns];
            // SAFETY: `out` has `rows * columns` elements. Each task has another panel or block, so
            // other columns or rows, than all other tasks.
            unsafe { block.run(a, packed, bias, out) };
        };
        // SAFETY: the panels cover all columns and the blocks all rows, and `run` initialises its part.
        unsafe {
            vec_filled_by(rows * columns, |out| {
                for_each_task(panels * blocks, |task| {
                    work(task / blocks, task % blocks, out);
                });
            })
        }
    })
}

/// A part of the product: the rows of some tiles and the columns of one panel.
struct Block<'a> {
    row: usize,
    tiles: &'a [usize],
    depth: usize,
    column: usize,
    columns: usize,
}

impl Block<'_> {
    /// Initialises this part of the product.
    ///
    /// # Safety
    /// `out` is the whole product, and no other thread accesses this part of it.
    unsafe fn run<T: Element>(
        &self,
        a: Matrix<T>,
        packed: &[T],
        bias: Option<&[T]>,
        out: SharedSlice<MaybeUninit<T>>,
    ) {
        let (most, tile_columns) = microkernel::tile_shape::<T>();
        let width = tile_columns.min(self.columns - self.column);
        let bias = bias.map(|bias| &bias[self.column..][..width]);
        let offsets: Vec<usize> = (0..self.depth.min(DEPTH))
            .map(|k| k * tile_columns)
            .collect();
        with_scratch(most * tile_columns, |sums: &mut [T]| {
            let mut done = 0;
            while done < self.depth || done == 0 {
                let depth = (self.depth - done).min(DEPTH);
                let mut row = self.row;
                for &rows in self.tiles {
                    let start = row * a.row_step + done * a.column_step;
                    // SAFETY: `product` has checked that all rows and columns of `a` are within its
                    // values; `packed` has a tile's columns for each of the `depth` steps, and
                    // `sums` is a full tile.
                    unsafe {
                        microkernel::weighted_sums(
                            microkernel::TileSize::of::<T>(rows, width),
                            microkernel::Weights {
                                start: a.values.as_ptr().wrapping_add(start),
                                row_step: a.row_step,
                                step: a.column_step,
                            },
                            &offsets[..depth],
                            packed.as_ptr().add(done * tile_columns),
                            sums.as_mut_ptr(),
                        );
                    }
                    for (i, sums) in sums.chunks_exact(tile_columns).take(rows).enumerate() {
                        // SAFETY: this is a row of this part, which only this task accesses.
                        let out =
                            unsafe { out.part((row + i) * self.columns + self.column, width) };
                        match done {
                            0 => store(sums, bias, out),
                            // SAFETY: the pass with `done == 0` has initialised it.
                            _ => add(sums, unsafe { out.assume_init_mut() }),
                        }
                    }
                    row += rows;
                }
                done += depth.max(1);
            }
        });
    }
}

multiversion! {
    fn store<T: Element>(sums: &[T], bias: Option<&[T]>, out: &mut [MaybeUninit<T>]) {
        match bias {
            None => {
                for (out, sum) in out.iter_mut().zip(sums) {
                    out.write(*sum);
                }
            }
            Some(bias) => {
                for ((out, sum), bias) in out.iter_mut().zip(sums).zip(bias) {
                    out.write(*sum + *bias);
                }
            }
        }
    }
}

multiversion! {
    fn add<T: Element>(sums: &[T], out: &mut [T]) {
        for (out, sum) in out.iter_mut().zip(sums) {
            *out += *sum;
        }
    }
}

/// Packs `width` columns of `b` into a panel, with zeros up to the tile's columns.
fn pack<T: Element>(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_follow_the_definition() {
        let values = |count: usize, by: usize| -> Vec<f64> {
            (0..count)
                .map(|i| ((i * by + 3) % 11) as f64 - 5.0)
                .collect()
        };
        for (i, &[rows, depth, columns]) in [
            [1, 1, 1],
            [3, 0, 5],
            [9, 17, 25],
            [8, 16, 48],
            [9, 520, 13],
            [2, 40, 131],
        ]
        .iter()
        .enumerate()
        {
            let (a, b) = (values(rows * depth, 7), values(depth * columns, 5));
            let bias = values(columns, 3);
            let bias = (i % 2 == 0).then_some(bias.as_slice());
            for transposed in [[false, false], [false, true], [true, false], [true, true]] {
                let matrix = |values, rows, columns, transposed| match transposed {
                    false => Matrix::of_rows(values, columns),
                    true => Matrix::of_rows(values, rows).transposed(),
                };
                let a = matrix(&a, rows, depth, transposed[0]);
                let b = matrix(&b, depth, columns, transposed[1]);
                let got = product([rows, depth, columns], a, b, bias);
                let at = |m: Matrix<f64>, row, column| {
                    m.values[row * m.row_step + column * m.column_step]
                };
                for row in 0..rows {
                    for column in 0..columns {
                        let sum: f64 = (0..depth).map(|k| at(a, row, k) * at(b, k, column)).sum();
                        let want = sum + bias.map_or(0.0, |bias| bias[column]);
                        assert_eq!(
                            got[row * columns + column],
                            want,
                            "{transposed:?} {row} {column}"
                        );
                    }
                }
            }
        }
    }
}
