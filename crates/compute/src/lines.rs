//! The lines of a tensor along a dimension, and programs that compute a line from each.
//!
//! Lines along the last dimension are adjacent in memory. Of the others, and of short ones, a task copies some into
//! scratch memory, element after element, so that they are computed side by side, each in its lane of the vectors.

use crate::scratch::with_scratch;
use crate::shared_slice::{SharedSlice, vec_filled_by};
use crate::simd::Float;
use crate::threads::for_each_task;
use crate::{whole_rows, write};
use std::mem::MaybeUninit;

/// The elements of one task, rounded to whole rows.
const CHUNK: usize = 1 << 13;
/// The columns of a task.
pub const COLUMNS: usize = 64;
/// Rows of up to this size are computed as columns: a loop over so few elements is mostly its rest.
const SHORT: usize = 24;

/// The lines of a tensor along a dimension, seen as the columns of `outer` parts, each of which has `size` rows of
/// `columns` elements. In memory, the element of the next column is `step` further.
#[derive(Clone, Copy)]
pub struct Lines {
    outer: usize,
    /// The number of elements of a line.
    pub size: usize,
    columns: usize,
    step: usize,
}

impl Lines {
    /// Returns the lines of a contiguous tensor with these sizes along a dimension.
    pub fn along(dims: &[usize], dim: usize) -> Self {
        let (before, after) = (dims[..dim].iter().product(), &dims[dim + 1..]);
        let (outer, columns, step) = match after {
            [] => (1, before, dims[dim]),
            _ => (before, after.iter().product(), 1),
        };
        Lines {
            outer,
            size: dims[dim],
            columns,
            step,
        }
    }

    /// Returns whether the lines are computed side by side.
    #[inline]
    pub fn are_columns(&self) -> bool {
        // Rows of whole vectors have no rest.
        self.columns >= 8 && self.step <= SHORT && !self.step.is_multiple_of(8)
    }

    /// Returns for each line of the inputs a line of the same size. `of_rows` computes lines that are adjacent in memory;
    /// `of_columns` replaces the first of some blocks, whose rows are [`COLUMNS`] lines side by side.
    pub fn map<T: Float, const N: usize>(
        &self,
        inputs: [&[T]; N],
        of_rows: impl for<'a> Fn([&[T]; N], &'a mut [MaybeUninit<T>]) -> &'a mut [T] + Sync,
        of_columns: impl Fn([&mut [[T; COLUMNS]]; N]) + Sync,
    ) -> Vec<T> {
        if self.are_columns() {
            return self.map_columns(inputs, of_columns);
        }
        let count = self.outer * self.size * self.columns;
        write::by_chunks(count, whole_rows(CHUNK, self.size), |first, out| {
            of_rows(inputs.map(|input| &input[first..]), out)
        })
    }

    fn map_columns<T: Float, const N: usize>(
        &self,
        inputs: [&[T]; N],
        compute: impl Fn([&mut [[T; COLUMNS]]; N]) + Sync,
    ) -> Vec<T> {
        let &Lines {
            outer,
            size: rows,
            columns,
            step,
        } = self;
        let blocks = columns.div_ceil(COLUMNS);
        let work = |task: usize, y: SharedSlice<MaybeUninit<T>>| {
            let first = task % blocks * COLUMNS;
            let (start, width) = (
                task / blocks * rows * columns + first * step,
                COLUMNS.min(columns - first),
            );
            let size = rows * COLUMNS;
            with_scratch(N * size, |scratch: &mut [T]| {
                let mut scratch = scratch;
                let mut parts = inputs.map(|input| {
                    let (part, rest) = std::mem::take(&mut scratch).split_at_mut(size);
                    scratch = rest;
                    let (part, _) = part.as_chunks_mut::<COLUMNS>();
                    match step {
                        1 => {
                            for (i, row) in part.iter_mut().enumerate() {
                                row[..width]
                                    .copy_from_slice(&input[start + i * columns..][..width]);
                                row[width..].fill(T::ZERO);
                            }
                        }
                        _ => read_transposed(&input[start..][..width * rows], part),
                    }
                    part
                });
                compute(parts.each_mut().map(|part| &mut **part));
                if step > 1 {
                    // SAFETY: no two tasks write the same rows.
                    return write_transposed(parts[0], unsafe { y.part(start, width * rows) });
                }
                for (i, row) in parts[0].iter().enumerate() {
                    // SAFETY: no two tasks write the same columns.
                    let y = unsafe { y.part(start + i * columns, width) };
                    y.write_copy_of_slice(&row[..width]);
                }
            });
        };
        // SAFETY: the blocks cover all columns of all parts.
        unsafe {
            vec_filled_by(outer * rows * columns, |y| {
                for_each_task(outer * blocks, |task| work(task, y));
            })
        }
    }
}

/// Copies the rows of a matrix into columns; the columns that are left become zeros.
fn read_transposed<T: Float>(input: &[T], part: &mut [[T; COLUMNS]]) {
    let rows = part.len();
    for (i, row) in part.iter_mut().enumerate() {
        for (to, from) in row.iter_mut().zip(input.chunks_exact(rows)) {
            *to = from[i];
        }
        row[input.len() / rows..].fill(T::ZERO);
    }
}

/// Copies columns into the rows of a matrix.
fn write_transposed<T: Float>(part: &[[T; COLUMNS]], out: &mut [MaybeUninit<T>]) {
    for (j, out) in out.chunks_exact_mut(part.len()).enumerate() {
        for (out, row) in out.iter_mut().zip(part) {
            out.write(row[j]);
        }
    }
}
