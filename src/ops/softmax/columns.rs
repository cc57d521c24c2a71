//! Softmax along a dimension that is not the last, or along a short one.
//!
//! A task copies some columns into scratch memory, row after row, and computes them side by side. The columns of short
//! rows are the rows themselves, transposed.

use crate::ops::engine::autograd::{Backward, Downstream, Upstream, has_kernel, of_first, record};
use crate::ops::engine::scratch::with_scratch;
use crate::ops::engine::shared_slice::{SharedSlice, vec_filled_by};
use crate::ops::engine::simd::{Element, multiversion};
use crate::ops::engine::strided::in_order;
use crate::ops::engine::threads::for_each_task;
use crate::ops::engine::{CpuView, dispatch_dtype};
use crate::tensor::{Axis, Raw, Tensor};
use candle_core::Result;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The columns of a task.
const COLUMNS: usize = 64;
/// The rows whose terms are added one after the other.
const ROWS: usize = 256;
/// A last dimension of up to this size is computed like the others: a loop over so few elements is mostly its rest.
const SHORT: usize = 24;

/// Returns whether the softmax along a dimension is computed here.
pub(super) fn has_columns(x: &Raw, dim: usize) -> bool {
    let Grid { columns, step, .. } = Grid::of(x, dim);
    // Rows of whole vectors have no rest.
    columns >= 8 && step <= SHORT && step % 8 != 0 && has_kernel(&[x])
}

/// Returns the softmax along a dimension, or its logarithm.
pub(super) fn softmax(x: &Raw, dim: usize, log: bool) -> Result<Raw> {
    dispatch_dtype!(x, forward(x, dim, log))
}

fn forward<T: Element>(x: &Raw, dim: usize, log: bool) -> Result<Raw> {
    let input = in_order(x)?;
    let view = CpuView::of(&input)?;
    let grid = Grid::of(x, dim);
    let y = grid.map([view.as_slice::<T>()?], |[x]| softmax_block(x, log));
    drop(view);
    let element = PhantomData::<T>;
    record(&[x], y, x.shape(), || Back {
        grid,
        dim,
        log,
        element,
    })
}

/// The columns of a tensor along a dimension: `outer` parts, each of which has `rows` rows of `columns`
/// elements. In memory, the element of the next column is `step` further.
#[derive(Clone, Copy)]
struct Grid {
    outer: usize,
    rows: usize,
    columns: usize,
    step: usize,
}

impl Grid {
    fn of(x: &Raw, dim: usize) -> Self {
        let dims = x.dims();
        let (before, after) = (dims[..dim].iter().product(), &dims[dim + 1..]);
        let (outer, columns, step) = match after {
            [] => (1, before, dims[dim]),
            _ => (before, after.iter().product(), 1),
        };
        Grid {
            outer,
            rows: dims[dim],
            columns,
            step,
        }
    }

    /// Calls `compute` with blocks of the inputs' columns, whose rows have [`COLUMNS`] elements. Returns
    /// the columns of the first input as `compute` has changed them.
    fn map<T: Element, const N: usize>(
        &self,
        inputs: [&[T]; N],
        compute: impl Fn([&mut [[T; COLUMNS]]; N]) + Sync,
    ) -> Vec<T> {
        let &Grid {
            outer,
            rows,
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
                    // SAFETY: each task has rows of its own.
                    return write_transposed(parts[0], unsafe { y.part(start, width * rows) });
                }
                for (i, row) in parts[0].iter().enumerate() {
                    // SAFETY: each task has columns of its own.
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
fn read_transposed<T: Element>(input: &[T], part: &mut [[T; COLUMNS]]) {
    let rows = part.len();
    for (i, row) in part.iter_mut().enumerate() {
        for (to, from) in row.iter_mut().zip(input.chunks_exact(rows)) {
            *to = from[i];
        }
        row[input.len() / rows..].fill(T::ZERO);
    }
}

/// Copies columns into the rows of a matrix.
fn write_transposed<T: Element>(part: &[[T; COLUMNS]], out: &mut [MaybeUninit<T>]) {
    for (j, out) in out.chunks_exact_mut(part.len()).enumerate() {
        for (out, row) in out.iter_mut().zip(part) {
            out.write(row[j]);
        }
    }
}

/// Returns the sum of the terms of all rows, for each column.
#[inline(always)]
fn sums<T: Element, R>(rows: &mut [R], term: impl Fn(&mut R, usize) -> T) -> [T; COLUMNS] {
    let mut total = [T::ZERO; COLUMNS];
    for rows in rows.chunks_mut(ROWS) {
        let mut sums = [T::ZERO; COLUMNS];
        for row in rows {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum += term(row, i);
            }
        }
        add(&mut total, &sums);
    }
    total
}

#[inline(always)]
fn add<T: Element>(total: &mut [T; COLUMNS], sums: &[T; COLUMNS]) {
    for i in 0..COLUMNS {
        total[i] += sums[i];
    }
}

multiversion! {
    fn softmax_block<T: Element>(x: &mut [[T; COLUMNS]], log: bool) {
        let mut largest = x[0];
        for row in x.iter() {
            for i in 0..COLUMNS {
                largest[i] = if row[i] > largest[i] { row[i] } else { largest[i] };
            }
        }
        if log {
            let shifts = sums(x, |row, i| (row[i] - largest[i]).exp::<FUSED>()).map(T::ln::<FUSED>);
            for row in x {
                for i in 0..COLUMNS {
                    row[i] = row[i] - largest[i] - shifts[i];
                }
            }
            return;
        }
        let sums = sums(x, |row, i| {
            row[i] = (row[i] - largest[i]).exp::<FUSED>();
            row[i]
        });
        for row in x {
            for i in 0..COLUMNS {
                row[i] /= sums[i];
            }
        }
    }
}

struct Back<T> {
    grid: Grid,
    dim: usize,
    log: bool,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn needs_output(&self) -> bool {
        true
    }

    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (gradient, output) = (upstream.gradient, upstream.output()?.raw());
        let (g, y) = (CpuView::of(gradient)?, CpuView::of(output)?);
        let inputs = [g.as_slice::<T>()?, y.as_slice::<T>()?];
        let of_x = self
            .grid
            .map(inputs, |[g, y]| gradient_block(g, y, self.log));
        of_first(of_x, gradient.shape())
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let of_x = recorded_gradient(upstream.g(), upstream.output()?, self.dim, self.log);
        Ok([Some(of_x.into()), None, None])
    }
}

/// Computes the gradient of the logits from the gradient of the output along a dimension, recorded.
pub(super) fn recorded_gradient(g: &Tensor, y: &Tensor, dim: impl Into<Axis>, log: bool) -> Tensor {
    let dim = dim.into();
    match log {
        true => g - y.exp() * g.sum_keepdim(dim),
        false => y * (g - (g * y).sum_keepdim(dim)),
    }
}

multiversion! {
    fn gradient_block<T: Element>(gradient: &mut [[T; COLUMNS]], y: &[[T; COLUMNS]], log: bool) {
        let mut common = [T::ZERO; COLUMNS];
        for (g, y) in gradient.chunks(ROWS).zip(y.chunks(ROWS)) {
            let mut sums = [T::ZERO; COLUMNS];
            for (g, y) in g.iter().zip(y) {
                for i in 0..COLUMNS {
                    sums[i] += if log { g[i] } else { g[i] * y[i] };
                }
            }
            add(&mut common, &sums);
        }
        for (g, y) in gradient.iter_mut().zip(y) {
            for i in 0..COLUMNS {
                g[i] = if log { g[i] - y[i].exp::<FUSED>() * common[i] } else { y[i] * (g[i] - common[i]) };
            }
        }
    }
}
