//! Outputs that tasks write in blocks: some columns of some rows.

use super::whole;
use crate::shared_slice::{SharedSlice, vec_filled_by};
use crate::threads::for_each_task;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Matrices of one size, one after the other, each of which is divided into blocks. A task writes a block.
#[derive(Clone, Copy)]
pub struct Blocks {
    /// The number of matrices.
    pub matrices: usize,
    /// The rows of a matrix.
    pub rows: usize,
    /// The columns of a matrix.
    pub columns: usize,
    /// The rows of a block; the last blocks may have fewer.
    pub high: usize,
    /// The columns of a block; the last blocks may have fewer.
    pub wide: usize,
}

impl Blocks {
    /// Returns the elements of all matrices. `compute` writes the rows of a block, from the first to the last.
    ///
    /// # Panics
    /// If a row is missing.
    pub fn write<T: Copy + Send>(&self, compute: impl Fn(&mut Block<T>) + Sync) -> Vec<T> {
        let (down, across) = (
            self.rows.div_ceil(self.high.max(1)),
            self.columns.div_ceil(self.wide.max(1)),
        );
        let part = |i: usize, size: usize, end: usize| i * size..end.min((i + 1) * size);
        let work = |task: usize, memory: SharedSlice<MaybeUninit<T>>| {
            let (matrix, block) = (task / (down * across), task % (down * across));
            let rows = part(block / across, self.high, self.rows);
            let mut block = Block {
                matrix,
                columns: part(block % across, self.wide, self.columns),
                next: matrix * self.rows + rows.start,
                end: matrix * self.rows + rows.end,
                rows,
                pitch: self.columns,
                memory,
            };
            compute(&mut block);
            assert!(block.next == block.end, "a row of a block is missing");
        };
        // SAFETY: the blocks cover all rows and columns of all matrices, and each has initialised its own.
        unsafe {
            vec_filled_by(self.matrices * self.rows * self.columns, |memory| {
                for_each_task(self.matrices * down * across, |task| work(task, memory));
            })
        }
    }
}

/// The part of the output that one task writes.
pub struct Block<'a, T> {
    matrix: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    /// The row that is written next, numbered through all matrices.
    next: usize,
    end: usize,
    pitch: usize,
    memory: SharedSlice<'a, MaybeUninit<T>>,
}

impl<T: Copy> Block<'_, T> {
    /// Returns the index of the matrix.
    pub fn matrix(&self) -> usize {
        self.matrix
    }

    /// Returns the rows in the matrix.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Returns the columns in the matrix.
    pub fn columns(&self) -> Range<usize> {
        self.columns.clone()
    }

    /// Writes the next row, which `compute` initialises and returns.
    ///
    /// # Panics
    /// If all rows are written, or `compute` returns other memory.
    #[inline(always)]
    pub fn row(&mut self, compute: impl for<'b> FnOnce(&'b mut [MaybeUninit<T>]) -> &'b mut [T]) {
        assert!(self.next < self.end, "a block has no more rows");
        let start = self.next * self.pitch + self.columns.start;
        // SAFETY: no other task has these columns of these rows, and this one has each row once.
        let row = unsafe { self.memory.part(start, self.columns.len()) };
        whole(row, compute);
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{by_index, each, fill};
    use std::panic::catch_unwind;

    #[test]
    fn blocks_become_the_whole() {
        for [matrices, rows, columns, high, wide] in [
            [2, 5, 7, 2, 3],
            [1, 4, 4, 4, 4],
            [3, 1, 9, 8, 4],
            [0, 3, 3, 1, 1],
            [2, 0, 3, 0, 3],
        ] {
            let blocks = Blocks {
                matrices,
                rows,
                columns,
                high,
                wide,
            };
            let got = blocks.write(|block| {
                let (matrix, columns) = (block.matrix(), block.columns());
                for row in block.rows() {
                    let first = (matrix * blocks.rows + row) * blocks.columns + columns.start;
                    block.row(|out| by_index(out, |i| first + i));
                }
            });
            assert!(got.into_iter().eq(0..matrices * rows * columns));
        }
    }

    #[test]
    fn rows_that_are_missing_or_too_many_panic() {
        let blocks = Blocks {
            matrices: 1,
            rows: 2,
            columns: 3,
            high: 2,
            wide: 2,
        };
        for count in [0, 1, 3] {
            let write =
                || blocks.write(|block| (0..count).for_each(|_| block.row(|out| fill(out, 1))));
            assert!(catch_unwind(write).is_err(), "{count}");
        }
        let half = || blocks.write(|block| block.row(|out| each(&mut out[..1], [1])));
        assert!(catch_unwind(half).is_err());
    }
}
