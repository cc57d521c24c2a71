//! The product of two matrices, however they lie.

use super::scratch::with_scratch;
use super::shared::{Shared, written};
use super::simd::{Element, multiversion};
use super::threads::for_each_task;
use super::{evenly, microkernel};
use std::mem::MaybeUninit;

/// Inner dimensions are cut to this, so that a panel stays in the second cache.
const DEPTH: usize = 512;
/// Into so many parts work is split at least, if it is large enough.
const PARTS: usize = 8;

/// A matrix: `numbers[row * row_step + column * column_step]`.
#[derive(Clone, Copy)]
pub(in crate::ops) struct Matrix<'a, T> {
    pub(in crate::ops) numbers: &'a [T],
    pub(in crate::ops) row_step: usize,
    pub(in crate::ops) column_step: usize,
}

impl<'a, T: Element> Matrix<'a, T> {
    /// Row after row.
    pub(in crate::ops) fn of_rows(numbers: &'a [T], columns: usize) -> Self {
        Matrix {
            numbers,
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
            assert!(
                last < self.numbers.len(),
                "a matrix ends outside its numbers"
            );
        }
    }
}

/// `a · b`, row after row, where `a` is `rows × depth` and `b` is `depth × columns`; plus `bias` in each row.
///
/// The columns of `b` are brought together in panels of a tile's width; `a` is read where it is.
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
    let (most, places) = microkernel::tile_shape::<T>();
    let tiles = evenly(rows, most);
    let panels = columns.div_ceil(places);
    let blocks = PARTS.div_ceil(panels).min(tiles.len());
    with_scratch(panels * depth * places, |packed: &mut [T]| {
        let shared = Shared::new(packed);
        for_each_task(panels, |panel| {
            let width = places.min(columns - panel * places);
            // SAFETY: each panel has its own part.
            let packed = unsafe { shared.part(panel * depth * places, depth * places) };
            pack(b, panel * places, width, places, packed);
        });
        let packed = &*packed;
        let work = |panel: usize, block: usize, out: Shared<MaybeUninit<T>>| {
            let (first, end) = (
                block * tiles.len() / blocks,
                (block + 1) * tiles.len() / blocks,
            );
            let block = Block {
                row: tiles[..first].iter().sum(),
                tiles: &tiles[first..end],
                depth,
                column: panel * places,
                columns,
            };
            let packed = &packed[panel * depth * places..][..depth * places];
            // SAFETY: tasks write different rows or columns of the vector's `rows × columns`.
            unsafe { block.run(a, packed, bias, out) };
        };
        // SAFETY: panels and blocks cover all rows and columns.
        unsafe {
            written(rows * columns, |out| {
                for_each_task(panels * blocks, |task| {
                    work(task / blocks, task % blocks, out);
                });
            })
        }
    })
}

/// Some tiles of rows and one panel of columns of the product.
struct Block<'a> {
    row: usize,
    tiles: &'a [usize],
    depth: usize,
    column: usize,
    columns: usize,
}

impl Block<'_> {
    /// Writes this part of the product.
    ///
    /// # Safety
    /// `out` is the whole product; nobody else uses this part of it.
    unsafe fn run<T: Element>(
        &self,
        a: Matrix<T>,
        packed: &[T],
        bias: Option<&[T]>,
        out: Shared<MaybeUninit<T>>,
    ) {
        let (most, places) = microkernel::tile_shape::<T>();
        let width = places.min(self.columns - self.column);
        let bias = bias.map(|bias| &bias[self.column..][..width]);
        let offsets: Vec<usize> = (0..self.depth.min(DEPTH)).map(|k| k * places).collect();
        with_scratch(most * places, |sums: &mut [T]| {
            let mut done = 0;
            while done < self.depth || done == 0 {
                let depth = (self.depth - done).min(DEPTH);
                let mut row = self.row;
                for &rows in self.tiles {
                    let start = row * a.row_step + done * a.column_step;
                    // SAFETY: `product` has checked that all rows and columns lie in the matrix;
                    // `packed` has a tile's places for each of them.
                    unsafe {
                        microkernel::weighted_sums(
                            microkernel::Size::of::<T>(rows, width),
                            microkernel::Weights {
                                start: a.numbers.as_ptr().wrapping_add(start),
                                row_step: a.row_step,
                                step: a.column_step,
                            },
                            &offsets[..depth],
                            packed.as_ptr().add(done * places),
                            sums.as_mut_ptr(),
                        );
                    }
                    for (i, sums) in sums.chunks_exact(places).take(rows).enumerate() {
                        // SAFETY: a row of this part.
                        let out =
                            unsafe { out.part((row + i) * self.columns + self.column, width) };
                        match done {
                            0 => store(sums, bias, out),
                            // SAFETY: the first round has written it.
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

/// Brings `width` columns of `b` together, with zeros up to the tile's `places`.
fn pack<T: Element>(b: Matrix<T>, column: usize, width: usize, places: usize, packed: &mut [T]) {
    if b.row_step == 1 {
        return pack_turned(
            &b.numbers[column * b.column_step..],
            b.column_step,
            width,
            places,
            packed,
        );
    }
    for (k, line) in packed.chunks_exact_mut(places).enumerate() {
        let start = k * b.row_step + column * b.column_step;
        match b.column_step {
            1 => line[..width].copy_from_slice(&b.numbers[start..start + width]),
            step => {
                for (number, from) in line[..width].iter_mut().zip((start..).step_by(step)) {
                    *number = b.numbers[from];
                }
            }
        }
        line[width..].fill(T::ZERO);
    }
}

/// Squares of so many numbers are turned at once.
const SQUARE: usize = 8;

multiversion! {
    /// The same for columns whose numbers lie together; `pitch` is from one column to the next.
    pub(in crate::ops) fn pack_turned<T: Element>(columns: &[T], pitch: usize, width: usize, places: usize, packed: &mut [T]) {
        let depth = packed.len() / places;
        let (squares, even) = (width / SQUARE * SQUARE, depth / SQUARE * SQUARE);
        for k in (0..even).step_by(SQUARE) {
            let lines = &mut packed[k * places..][..SQUARE * places];
            for column in (0..squares).step_by(SQUARE) {
                let mut square = [[T::ZERO; SQUARE]; SQUARE];
                for (i, numbers) in square.iter_mut().enumerate() {
                    numbers.copy_from_slice(&columns[(column + i) * pitch + k..][..SQUARE]);
                }
                for (i, line) in lines.chunks_exact_mut(places).enumerate() {
                    let mut turned = [T::ZERO; SQUARE];
                    for j in 0..SQUARE {
                        turned[j] = square[j][i];
                    }
                    line[column..column + SQUARE].copy_from_slice(&turned);
                }
            }
        }
        for (k, line) in packed.chunks_exact_mut(places).enumerate() {
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

    /// Matrices in each direction against the definition.
    #[test]
    fn products_are_sums_of_products() {
        let numbers = |count: usize, by: usize| -> Vec<f64> {
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
            let (a, b) = (numbers(rows * depth, 7), numbers(depth * columns, 5));
            let bias = numbers(columns, 3);
            let bias = (i % 2 == 0).then_some(bias.as_slice());
            for turned in [[false, false], [false, true], [true, false], [true, true]] {
                let lay = |numbers, rows, columns, turned| match turned {
                    false => Matrix::of_rows(numbers, columns),
                    true => Matrix::of_rows(numbers, rows).transposed(),
                };
                let a = lay(&a, rows, depth, turned[0]);
                let b = lay(&b, depth, columns, turned[1]);
                let got = product([rows, depth, columns], a, b, bias);
                let at = |m: Matrix<f64>, row, column| {
                    m.numbers[row * m.row_step + column * m.column_step]
                };
                for row in 0..rows {
                    for column in 0..columns {
                        let sum: f64 = (0..depth).map(|k| at(a, row, k) * at(b, k, column)).sum();
                        let want = sum + bias.map_or(0.0, |bias| bias[column]);
                        assert_eq!(
                            got[row * columns + column],
                            want,
                            "{turned:?} {row} {column}"
                        );
                    }
                }
            }
        }
    }
}
