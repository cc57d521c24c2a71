//! The product of two matrices, however they lie.

use super::scratch::with_scratch;
use super::shared::Shared;
use super::simd::Element;
use super::{evenly, tile};
use rayon::prelude::*;

/// Inner dimensions are cut to this, so that a panel stays in the second cache.
const DEPTH: usize = 512;
/// Into so many parts work is split at least, if it is large enough.
const PARTS: usize = 8;

/// A matrix: `numbers[row * rows + column * columns]`.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a, T> {
    pub(super) numbers: &'a [T],
    pub(super) row_step: usize,
    pub(super) column_step: usize,
}

impl<'a, T: Element> Matrix<'a, T> {
    /// Row after row.
    pub(super) fn of_rows(numbers: &'a [T], columns: usize) -> Self {
        Matrix {
            numbers,
            row_step: columns,
            column_step: 1,
        }
    }

    pub(super) fn transposed(self) -> Self {
        Matrix {
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }
}

/// `a · b`, row after row, where `a` is `rows × depth` and `b` is `depth × columns`; plus `bias` in each row.
pub(super) fn product<T: Element>(
    [rows, depth, columns]: [usize; 3],
    a: Matrix<T>,
    b: Matrix<T>,
    bias: Option<&[T]>,
) -> Vec<T> {
    if rows == 0 || columns == 0 {
        return Vec::new();
    }
    let (most, places) = tile::tile_shape::<T>();
    let tiles = evenly(rows, most);
    let panels = columns.div_ceil(places);
    let blocks = PARTS.div_ceil(panels).min(tiles.len());
    let mut out = Vec::with_capacity(rows * columns);
    let shared = Shared::new(&mut out);
    let packed = pack_rows([rows, depth], a, &tiles);
    (0..panels * blocks).into_par_iter().for_each(|task| {
        let (panel, block) = (task / blocks, task % blocks);
        let (first, end) = (
            block * tiles.len() / blocks,
            (block + 1) * tiles.len() / blocks,
        );
        let work = Panel {
            row: tiles[..first].iter().sum(),
            tiles: &tiles[first..end],
            packed: &packed,
            depth,
            column: panel * places,
            width: places.min(columns - panel * places),
            columns,
        };
        // SAFETY: tasks write different rows or columns of the vector's `rows × columns`.
        unsafe { work.run(b, bias, shared) };
    });
    // SAFETY: panels and blocks cover all rows and columns.
    unsafe { out.set_len(rows * columns) };
    out
}

/// Some tiles of rows and one tile of columns of the product.
struct Panel<'a, T> {
    row: usize,
    tiles: &'a [usize],
    /// All rows, as [`pack_rows`] gives them.
    packed: &'a [T],
    depth: usize,
    column: usize,
    width: usize,
    columns: usize,
}

impl<T: Element> Panel<'_, T> {
    /// # Safety
    /// `out` has room for the product; no other thread writes this part.
    unsafe fn run(&self, b: Matrix<T>, bias: Option<&[T]>, out: Shared<T>) {
        let (most, places) = tile::tile_shape::<T>();
        let depth = self.depth.min(DEPTH);
        let offsets: Vec<usize> = (0..depth).map(|k| k * places).collect();
        with_scratch((depth + most) * places, |scratch: &mut [T]| {
            let (columns, sums) = scratch.split_at_mut(depth * places);
            let mut done = 0;
            while done < self.depth || done == 0 {
                let depth = (self.depth - done).min(DEPTH);
                self.pack_columns(b, done, &mut columns[..depth * places]);
                let mut row = self.row;
                for &rows in self.tiles {
                    let weights = &self.packed[row * self.depth + done * rows..][..depth * rows];
                    // SAFETY: the packed numbers are as many as the tile reads.
                    unsafe {
                        tile::weighted_sums(
                            rows,
                            weights.as_ptr(),
                            &offsets[..depth],
                            columns.as_ptr(),
                            sums.as_mut_ptr(),
                        );
                    }
                    for (i, sums) in sums.chunks_exact(places).take(rows).enumerate() {
                        let at = (row + i) * self.columns + self.column;
                        // SAFETY: a row of this panel; it has values from the second round on.
                        unsafe { self.store(sums, bias, done == 0, out.at(at)) };
                    }
                    row += rows;
                }
                done += depth.max(1);
            }
        });
    }

    /// # Safety
    /// `out` is good for the panel's width, with values unless this is the `first` round.
    unsafe fn store(&self, sums: &[T], bias: Option<&[T]>, first: bool, out: *mut T) {
        let sums = &sums[..self.width];
        // SAFETY: as promised.
        unsafe {
            match (first, bias) {
                (true, None) => std::ptr::copy_nonoverlapping(sums.as_ptr(), out, sums.len()),
                (true, Some(bias)) => {
                    for (i, (sum, bias)) in sums.iter().zip(&bias[self.column..]).enumerate() {
                        out.add(i).write(*sum + *bias);
                    }
                }
                (false, _) => {
                    for (i, sum) in sums.iter().enumerate() {
                        *out.add(i) += *sum;
                    }
                }
            }
        }
    }

    /// Brings this panel's columns of `b` together, from row `first` on, with zeros up to the tile's width.
    fn pack_columns(&self, b: Matrix<T>, first: usize, packed: &mut [T]) {
        let places = tile::tile_shape::<T>().1;
        if b.column_step == 1 {
            for (k, line) in packed.chunks_exact_mut(places).enumerate() {
                let start = (first + k) * b.row_step + self.column;
                line[..self.width].copy_from_slice(&b.numbers[start..start + self.width]);
                line[self.width..].fill(T::ZERO);
            }
            return;
        }
        // Eight rows at a time: what is read of a column lies together.
        for (i, lines) in packed.chunks_mut(8 * places).enumerate() {
            let (row, rows) = (first + i * 8, lines.len() / places);
            for column in 0..self.width {
                let start = (self.column + column) * b.column_step + row * b.row_step;
                let numbers = b.numbers[start..].iter().step_by(b.row_step).take(rows);
                for (line, number) in lines.chunks_exact_mut(places).zip(numbers) {
                    line[column] = *number;
                }
            }
            for line in lines.chunks_exact_mut(places) {
                line[self.width..].fill(T::ZERO);
            }
        }
    }
}

/// The rows of each tile together: all numbers of a column, then those of the next.
fn pack_rows<T: Element>([rows, depth]: [usize; 2], a: Matrix<T>, tiles: &[usize]) -> Vec<T> {
    let firsts: Vec<usize> = (0..tiles.len()).map(|i| tiles[..i].iter().sum()).collect();
    let mut packed = vec![T::ZERO; rows * depth];
    let shared = Shared::new(&mut packed);
    firsts
        .par_iter()
        .zip(tiles)
        .with_min_len(8)
        .for_each(|(&row, &rows)| {
            // SAFETY: each tile has its own part of the vector.
            let packed =
                unsafe { std::slice::from_raw_parts_mut(shared.at(row * depth), rows * depth) };
            if a.row_step == 1 {
                for (k, numbers) in packed.chunks_exact_mut(rows).enumerate() {
                    numbers.copy_from_slice(&a.numbers[row + k * a.column_step..][..rows]);
                }
                return;
            }
            // Eight columns at a time, for the same reason.
            for (i, block) in packed.chunks_mut(8 * rows).enumerate() {
                for m in 0..rows {
                    let start = (row + m) * a.row_step + i * 8 * a.column_step;
                    let line = a.numbers[start..].iter().step_by(a.column_step);
                    for (numbers, number) in block.chunks_exact_mut(rows).zip(line) {
                        numbers[m] = *number;
                    }
                }
            }
        });
    packed
}
