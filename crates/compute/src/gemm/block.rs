//! A block of a product, which one task computes.

use super::matrix::{Matrix, store};
use crate::microkernel;
use crate::scratch::with_scratch;
use crate::shared_slice::SharedSlice;
use crate::simd::Float;
use crate::sums::add;
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
    /// Initialises this part of the product, or adds to it.
    ///
    /// # Safety
    /// `out` is the whole product, and no other thread accesses this part of it. If `add` is set, this part is
    /// initialised already.
    pub(super) unsafe fn run<T: Float>(
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
        let in_place = width.is_multiple_of(microkernel::lanes::<T>());
        with_scratch(most * tile_columns, |tile: &mut [T]| {
            let mut done = 0;
            while done < self.depth || done == 0 {
                let depth = (self.depth - done).min(DEPTH);
                let mut row = self.row;
                for &rows in self.tiles {
                    let target = Target {
                        row,
                        rows,
                        width,
                        bias,
                        add: done > 0 || self.add,
                        out,
                    };
                    let start = row * a.row_step + done * a.column_step;
                    // SAFETY: `Matrix::check` has checked that all rows and columns of `a` are within its
                    // values; `packed` has a tile's columns for each of the `depth` steps; the sums
                    // are whole vectors of this part, which the caller lends, or a full tile.
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
                            match in_place {
                                true => self.sums(&target),
                                false => microkernel::Sums::of_tile(tile),
                            },
                        );
                        if !in_place {
                            self.copy(tile, &target);
                        }
                    }
                    row += rows;
                }
                done += depth.max(1);
            }
        });
    }

    /// Returns where the sums of a tile go, if they are whole vectors.
    ///
    /// # Safety
    /// As for [`run`](Self::run). If the sums are added, the target is initialised.
    unsafe fn sums<T: Float>(&self, target: &Target<T>) -> microkernel::Sums<T> {
        let first = target.row * self.pitch + self.column;
        let end = first + (target.rows - 1) * self.pitch + target.width;
        // SAFETY: no other thread accesses the columns that the target has in these rows.
        let start: *mut T = unsafe { target.out.pointer(first, end) }.cast();
        microkernel::Sums {
            start,
            pitch: self.pitch,
            added: match target.add {
                true => Some((start.cast_const(), self.pitch)),
                false => target.bias.map(|bias| (bias.as_ptr(), 0)),
            },
        }
    }

    /// Copies the sums of a tile to the product, or adds them.
    ///
    /// # Safety
    /// As for [`sums`](Self::sums).
    unsafe fn copy<T: Float>(&self, tile: &[T], target: &Target<T>) {
        let (_, tile_columns) = microkernel::tile_shape::<T>();
        for (i, sums) in tile
            .chunks_exact(tile_columns)
            .take(target.rows)
            .enumerate()
        {
            let first = (target.row + i) * self.pitch + self.column;
            // SAFETY: this is a row of this part, which only this task accesses.
            let out = unsafe { target.out.part(first, target.width) };
            match target.add {
                false => store(sums, target.bias, out),
                // SAFETY: an earlier pass, or the caller, has initialised it.
                true => add(sums, unsafe { out.assume_init_mut() }),
            }
        }
    }
}

/// The part of the product that a tile is computed for.
struct Target<'a, T> {
    row: usize,
    rows: usize,
    width: usize,
    bias: Option<&'a [T]>,
    /// Whether the sums are added to the product's present values.
    add: bool,
    out: SharedSlice<'a, MaybeUninit<T>>,
}
