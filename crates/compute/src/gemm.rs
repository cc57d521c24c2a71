//! The product of two strided matrices.
//!
//! The columns of the right matrix are packed into panels of a tile's width, which stay in the cache;
//! the left matrix is read where it is. A task computes a block of the product: the columns of a panel in
//! the rows of some tiles.

mod block;
mod few_rows;
mod matrix;
mod pack;

pub use matrix::Matrix;
pub use pack::pack_transposed;

use crate::scratch::with_scratch;
use crate::shared_slice::{SharedSlice, vec_filled_by};
use crate::simd::Float;
use crate::threads::for_each_task;
use crate::write::zeros;
use crate::{microkernel, split_evenly};
use block::Block;
use few_rows::{FEW_ROWS, multiply_few};
use matrix::{Rows, Tasks, elements};
use pack::pack;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The least number of parts into which work is split, if there are enough tiles.
const PARTS: usize = 8;
/// The least number of multiplications for which each of several products is computed on all cores. Smaller
/// products are one task each.
const LARGE: usize = 1 << 24;
/// The most elements of the panels that are packed at once; at least [`PARTS`] panels are.
const PACKED: usize = 1 << 20;
/// The elements of the left matrix that stay in the L2 cache while all panels are multiplied with them.
const KEPT: usize = 1 << 17;
/// The rows of the left matrix that one task copies. They are adjacent in memory, so the processor reads ahead.
const COPIED: usize = 64;
/// The elements of one cache line of `f32`, or of two lines of `f64`.
const LINE: usize = 16;

/// Returns the rows of `a · b`, where `a` is `rows × depth` and `b` is `depth × columns`, with `bias`
/// added to each row.
///
/// # Panics
/// If the matrices do not have these sizes.
pub fn product<T: Float>(
    sizes: [usize; 3],
    a: Matrix<T>,
    b: Matrix<T>,
    bias: Option<&[T]>,
) -> Vec<T> {
    let [rows, _, columns] = sizes;
    // SAFETY: `multiply` initialises all rows.
    unsafe {
        vec_filled_by(elements(rows, columns), |out| {
            multiply(sizes, a, b, bias, Rows::new(out, columns), &on_all_cores);
        })
    }
}

/// Returns `a · b` for a matrix `b` that is not in memory: `pack(column, width, panel)` writes `width` columns of
/// `b` from `column` on to a panel. Each line of the panel is a row of these columns, with zeros up to the tile's
/// columns.
///
/// # Panics
/// If `a` does not have this size.
pub fn product_with<T: Float>(
    sizes: [usize; 3],
    a: Matrix<T>,
    pack: &(dyn Fn(usize, usize, &mut [T]) + Sync),
) -> Vec<T> {
    let [rows, depth, columns] = sizes;
    a.check(rows, depth);
    // SAFETY: `multiply_packed` initialises all rows.
    unsafe {
        vec_filled_by(elements(rows, columns), |out| {
            multiply_packed(sizes, a, pack, None, Rows::new(out, columns), &on_all_cores);
        })
    }
}

/// Returns the products of `count` pairs of matrices of the same sizes, one after the other. `pair` returns
/// the matrices of an index.
///
/// # Panics
/// If the matrices do not have these sizes.
pub fn products<'a, T: Float>(
    count: usize,
    sizes: [usize; 3],
    pair: impl Fn(usize) -> [Matrix<'a, T>; 2] + Sync,
) -> Vec<T> {
    let [rows, depth, columns] = sizes;
    if count == 1 || elements(rows, columns).saturating_mul(depth) >= LARGE {
        let of = |i| {
            let [a, b] = pair(i);
            product(sizes, a, b, None)
        };
        return match count {
            1 => of(0),
            _ => (0..count).flat_map(of).collect(),
        };
    }
    let each = elements(rows, columns);
    // SAFETY: each task initialises the product of its index.
    unsafe {
        vec_filled_by(elements(count, each), |out| {
            for_each_task(count, |i| {
                let [a, b] = pair(i);
                let out = SharedSlice::new(out.part(i * each, each));
                multiply(sizes, a, b, None, Rows::new(out, columns), &in_turn);
            });
        })
    }
}

/// Sets `out` to the rows of `a · b`, or adds them to `out`, within a task.
///
/// # Panics
/// If the matrices do not have these sizes.
pub fn product_to<T: Float>(
    sizes: [usize; 3],
    a: Matrix<T>,
    b: Matrix<T>,
    out: &mut [T],
    add: bool,
) {
    let pitch = sizes[2];
    // SAFETY: `MaybeUninit<T>` has the layout of `T`, and `multiply` writes only values.
    let out = unsafe { &mut *(std::ptr::from_mut(out) as *mut [MaybeUninit<T>]) };
    let out = SharedSlice::new(out);
    // SAFETY: `out` is borrowed for this call alone.
    unsafe { multiply(sizes, a, b, None, Rows { out, pitch, add }, &in_turn) };
}

fn on_all_cores(count: usize, work: &(dyn Fn(usize) + Sync)) {
    for_each_task(count, work);
}

fn in_turn(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).for_each(work);
}

/// Initialises the rows of the product, or adds to them.
///
/// # Safety
/// No other task accesses these rows meanwhile. If `to.add` is set, they are initialised already.
unsafe fn multiply<T: Float>(
    sizes: [usize; 3],
    a: Matrix<T>,
    b: Matrix<T>,
    bias: Option<&[T]>,
    to: Rows<T>,
    tasks: Tasks,
) {
    let [rows, depth, columns] = sizes;
    a.check(rows, depth);
    b.check(depth, columns);
    let contiguous = a.column_step == 1 && (b.row_step == 1 || b.column_step == 1);
    if rows <= FEW_ROWS && contiguous && !to.add && depth > 0 {
        // SAFETY: the caller's promise is that of `multiply_few`.
        return unsafe { multiply_few(sizes, a, b, bias, to, tasks) };
    }
    let pack = |column: usize, width: usize, panel: &mut [T]| pack(b, column, width, panel);
    // SAFETY: the caller's promise is that of `multiply_packed`.
    unsafe { multiply_packed(sizes, a, &pack, bias, to, tasks) }
}

/// Does the same as [`multiply`], with the right matrix of [`product_with`].
///
/// # Safety
/// As for [`multiply`]; and `a` has this size.
unsafe fn multiply_packed<T: Float>(
    [rows, depth, columns]: [usize; 3],
    a: Matrix<T>,
    pack: &(dyn Fn(usize, usize, &mut [T]) + Sync),
    bias: Option<&[T]>,
    to: Rows<T>,
    tasks: Tasks,
) {
    if rows == 0 || columns == 0 {
        return;
    }
    let sizes = [rows, depth, columns];
    let (most, tile_columns) = microkernel::tile_shape::<T>();
    if a.row_step == 1 && a.column_step > 1 && rows >= 2 * most && columns > tile_columns {
        // The rows are read once for each panel, so they are copied, with their elements one after the other.
        // The pitch of the copy is an odd number of cache lines: rows at a distance of a power of two would
        // share the same few lines of the cache.
        let pitch = ((depth / LINE + 1) | 1) * LINE;
        return with_scratch(rows * pitch, |copy: &mut [T]| {
            let shared = SharedSlice::new(copy);
            tasks(rows.div_ceil(COPIED), &|i| {
                let (first, count) = (i * COPIED, COPIED.min(rows - i * COPIED));
                // SAFETY: each task copies other rows.
                let copy = unsafe { shared.part(first * pitch, count * pitch) };
                pack_transposed(&a.values[first..], a.column_step, depth, pitch, copy);
            });
            let a = Matrix::of_rows(&*copy, pitch);
            // SAFETY: the caller's promise.
            unsafe { multiply_packed(sizes, a, pack, bias, to, tasks) }
        });
    }
    let all = columns.div_ceil(tile_columns);
    let size = depth * tile_columns;
    let together = (PACKED / size.max(1)).max(PARTS).min(all);
    with_scratch(together * size, |packed: &mut [T]| {
        for start in (0..all).step_by(together) {
            let panels = start..(start + together).min(all);
            let shared = SharedSlice::new(packed);
            tasks(panels.len(), &|panel| {
                let column = (start + panel) * tile_columns;
                // SAFETY: each task packs its own panel, and the panels do not overlap.
                let packed = unsafe { shared.part(panel * size, size) };
                pack(column, tile_columns.min(columns - column), packed);
            });
            // SAFETY: the caller's promise.
            unsafe { multiply_panels(sizes, a, panels, packed, bias, &to, tasks) };
        }
    });
}

/// Initialises the columns of the product for some packed panels, or adds to them.
///
/// # Safety
/// As for [`multiply`]; and `a` has this size.
unsafe fn multiply_panels<T: Float>(
    [rows, depth, columns]: [usize; 3],
    a: Matrix<T>,
    panels: Range<usize>,
    packed: &[T],
    bias: Option<&[T]>,
    to: &Rows<T>,
    tasks: Tasks,
) {
    let (most, tile_columns) = microkernel::tile_shape::<T>();
    let (tiles, size) = (split_evenly(rows, most), depth * tile_columns);
    let blocks = PARTS.div_ceil(panels.len());
    let blocks = blocks.max(rows * depth / KEPT).min(tiles.len());
    // Tasks that follow each other have the same rows, which are in the cache then.
    tasks(panels.len() * blocks, &|task| {
        let (panel, block) = (task % panels.len(), task / panels.len());
        let (first, end) = (
            block * tiles.len() / blocks,
            (block + 1) * tiles.len() / blocks,
        );
        let block = Block {
            row: tiles[..first].iter().sum(),
            tiles: &tiles[first..end],
            depth,
            column: (panels.start + panel) * tile_columns,
            columns,
            pitch: to.pitch,
            add: to.add,
        };
        let packed = &packed[panel * size..][..size];
        // SAFETY: each task has another panel or block, so other columns or rows, than all others.
        unsafe { block.run(a, packed, bias, to.out) };
    });
}

/// The right matrix of several products, packed once.
pub struct Packed<T> {
    panels: Vec<T>,
    depth: usize,
    columns: usize,
}

impl<T: Float> Packed<T> {
    /// Packs a matrix of this size.
    ///
    /// # Panics
    /// If `b` does not have this size.
    pub fn new(b: Matrix<T>, depth: usize, columns: usize) -> Self {
        b.check(depth, columns);
        let (_, tile_columns) = microkernel::tile_shape::<T>();
        let (count, size) = (columns.div_ceil(tile_columns), depth * tile_columns);
        let mut panels = zeros(count * size);
        let shared = SharedSlice::new(&mut panels);
        for_each_task(count, |panel| {
            let column = panel * tile_columns;
            // SAFETY: each task packs its own panel, and the panels do not overlap.
            let panel = unsafe { shared.part(panel * size, size) };
            pack(b, column, tile_columns.min(columns - column), panel);
        });
        Packed {
            panels,
            depth,
            columns,
        }
    }

    /// Returns the product of some rows with this matrix, with `bias` added to each row.
    ///
    /// # Panics
    /// If `a` does not have this size.
    pub fn product(&self, rows: usize, a: Matrix<T>, bias: Option<&[T]>) -> Vec<T> {
        let sizes = [rows, self.depth, self.columns];
        a.check(rows, self.depth);
        if rows == 0 || self.columns == 0 {
            return vec![];
        }
        let (_, tile_columns) = microkernel::tile_shape::<T>();
        let panels = 0..self.columns.div_ceil(tile_columns);
        // SAFETY: `multiply_panels` initialises all columns.
        unsafe {
            vec_filled_by(elements(rows, self.columns), |out| {
                let to = Rows::new(out, self.columns);
                multiply_panels(sizes, a, panels, &self.panels, bias, &to, &on_all_cores);
            })
        }
    }
}

#[cfg(test)]
mod tests;
