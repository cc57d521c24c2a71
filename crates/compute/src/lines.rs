//! The lines of a tensor along a dimension, and programs that compute a line from each.
//!
//! Lines along the last dimension are adjacent in memory. Of the others, and of short ones, a task copies some into
//! scratch memory, element after element, so that they are computed side by side, each in its lane of the vectors.

use crate::scratch::with_scratch;
use crate::simd::Float;
use crate::whole_rows;
use crate::write::{self, Blocks};
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
        let blocks = match step {
            // The columns of each part.
            1 => Blocks {
                matrices: outer,
                rows,
                columns,
                high: rows,
                wide: COLUMNS,
            },
            // The lines are adjacent.
            _ => Blocks {
                matrices: 1,
                rows: columns,
                columns: rows,
                high: COLUMNS,
                wide: rows,
            },
        };
        blocks.write(|block| {
            let size = rows * COLUMNS;
            with_scratch(N * size, |scratch: &mut [T]| {
                let mut scratch = scratch;
                let mut parts = inputs.map(|input| {
                    let (part, rest) = std::mem::take(&mut scratch).split_at_mut(size);
                    scratch = rest;
                    let (part, _) = part.as_chunks_mut::<COLUMNS>();
                    match step {
                        1 => {
                            let width = block.columns().len();
                            let start = block.matrix() * rows * columns + block.columns().start;
                            for (i, row) in part.iter_mut().enumerate() {
                                row[..width]
                                    .copy_from_slice(&input[start + i * columns..][..width]);
                                row[width..].fill(T::ZERO);
                            }
                        }
                        _ => {
                            let lines = block.rows();
                            read_transposed(&input[lines.start * rows..lines.end * rows], part);
                        }
                    }
                    part
                });
                compute(parts.each_mut().map(|part| &mut **part));
                let part = &*parts[0];
                if step > 1 {
                    for j in 0..block.rows().len() {
                        block.row(|line| write::each(line, part.iter().map(|row| row[j])));
                    }
                    return;
                }
                for row in part {
                    block.row(|out| out.write_copy_of_slice(&row[..out.len()]));
                }
            });
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Running sums of the first input plus the second one, along lines that are adjacent, columns, or short rows.
    #[test]
    fn lines_follow_the_definition() {
        let cases = [
            (vec![7, 40], 1),
            (vec![70, 5], 1),
            (vec![5, 9], 0),
            (vec![2, 4, 67], 1),
            (vec![3, 50, 24], 2),
            (vec![2, 3, 4, 33], 1),
            (vec![2, 130, 64], 1),
        ];
        for (dims, dim) in cases.into_iter().take(if cfg!(miri) { 4 } else { 7 }) {
            let count = dims.iter().product();
            let [a, b] = [3, 5]
                .map(|by| -> Vec<f32> { (0..count).map(|i| (i * by % 11) as f32 - 4.0).collect() });
            let lines = Lines::along(&dims, dim);
            let got = lines.map(
                [&a, &b],
                |[a, b], out| {
                    let mut sum = 0.0;
                    let values = a.iter().zip(b).enumerate().map(|(i, (a, b))| {
                        sum = if i % lines.size == 0 { *a } else { sum + *a };
                        sum + *b
                    });
                    write::each(out, values)
                },
                |[a, b]| {
                    let mut sums = [0.0; COLUMNS];
                    for (a, b) in a.iter_mut().zip(b) {
                        for j in 0..COLUMNS {
                            sums[j] += a[j];
                            a[j] = sums[j] + b[j];
                        }
                    }
                },
            );
            let step: usize = dims[dim + 1..].iter().product();
            let mut want = b;
            for (i, want) in want.iter_mut().enumerate() {
                let first = i - i / step % dims[dim] * step;
                let line = (first..=i).step_by(step);
                *want += line.map(|i| a[i]).sum::<f32>();
            }
            assert_eq!(got, want, "{dims:?} {dim}");
        }
    }

    /// What a program reads beside the last lines are zeros: a value that is not finite would be slow.
    #[test]
    fn columns_beside_the_last_lines_are_zeros() {
        for (dims, dim) in [([3, 9], 0), ([9, 3], 1)] {
            let used = std::sync::Mutex::new(vec![]);
            let lines = Lines::along(&dims, dim);
            lines.map(
                [&[1f32; 27]],
                |_, _| unreachable!("short rows are columns"),
                |[part]| {
                    let rows = part.iter().map(|row| row.map(|value| value as usize));
                    used.lock().expect("no panic").extend(rows.flatten());
                    part.as_flattened_mut().fill(f32::NAN);
                },
            );
            let used = used.into_inner().expect("no panic");
            assert_eq!(used.iter().sum::<usize>(), 27);
            let beside = used.chunks(COLUMNS).flat_map(|row| &row[9..]);
            assert!(beside.clone().all(|value| *value == 0));
        }
    }
}
