//! A block of a product, which one task computes.

use super::matrix::{Matrix, store};
use crate::ops::engine::microkernel;
use crate::ops::engine::scratch::with_scratch;
use crate::ops::engine::shared_slice::SharedSlice;
use crate::ops::engine::simd::{Element, multiversion};
use std::mem::MaybeUninit;

/// The largest depth of one pass over a panel, so that this part of it stays in the L2 cache.
const DEPTH: usize = 512;

/// A part of the product: the rows of some tiles and the columns of one panel.
pub(super) struct Block<'a> {
    pub(super) row: usize,
    pub(super) tiles: &'a [usize],
    pub(super) depth: usize,
    pub(super) column: usize,
    pub(super) columns: usize,
    /// The distance from one row of the product to the next.
    pub(super) pitch: usize,
    pub(super) add: bool,
}

impl Block<'_> {
    /// Initialises this part of the product.
    ///
    /// # Safety
    /// `out` is the whole product, and no other thread accesses this part of it. It is initialised if it is
    /// added to.
    pub(super) unsafe fn run<T: Element>(
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
                        let out = unsafe { out.part((row + i) * self.pitch + self.column, width) };
                        match done {
                            0 if !self.add => store(sums, bias, out),
                            // SAFETY: the pass with `done == 0`, or the caller, has initialised it.
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
    fn add<T: Element>(sums: &[T], out: &mut [T]) {
        for (out, sum) in out.iter_mut().zip(sums) {
            *out += *sum;
        }
    }
}
