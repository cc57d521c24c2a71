//! Softmax along a dimension that is not the last.
//!
//! A task copies some columns into scratch memory, row after row, and computes them side by side.

use crate::ops::engine::autograd::{Backward, Downstream, Recorded, Upstream, of_first, record};
use crate::ops::engine::scratch::with_scratch;
use crate::ops::engine::shared_slice::{SharedSlice, vec_filled_by};
use crate::ops::engine::simd::{Element, multiversion};
use crate::ops::engine::strided::in_order;
use crate::ops::engine::threads::for_each_task;
use crate::ops::engine::{CpuView, dispatch_dtype};
use crate::tensor::{Raw, Tensor};
use candle_core::Result;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The columns of a task.
const COLUMNS: usize = 64;
/// The rows whose terms are added one after the other.
const ROWS: usize = 256;

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
    record(&[x], y, x.shape(), || Back { grid, log, element })
}

/// The columns of a tensor along a dimension: `outer` parts, each of which has `rows` rows of `columns`
/// elements.
#[derive(Clone, Copy)]
struct Grid {
    outer: usize,
    rows: usize,
    columns: usize,
}

impl Grid {
    fn of(x: &Raw, dim: usize) -> Self {
        let dims = x.dims();
        Grid {
            outer: dims[..dim].iter().product(),
            rows: dims[dim],
            columns: dims[dim + 1..].iter().product(),
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
        } = self;
        let blocks = columns.div_ceil(COLUMNS);
        let work = |task: usize, y: SharedSlice<MaybeUninit<T>>| {
            let first = task % blocks * COLUMNS;
            let (start, width) = (
                task / blocks * rows * columns + first,
                COLUMNS.min(columns - first),
            );
            let size = rows * COLUMNS;
            with_scratch(N * size, |scratch: &mut [T]| {
                let mut scratch = scratch;
                let mut parts = inputs.map(|input| {
                    let (part, rest) = std::mem::take(&mut scratch).split_at_mut(size);
                    scratch = rest;
                    let (part, _) = part.as_chunks_mut::<COLUMNS>();
                    for (i, row) in part.iter_mut().enumerate() {
                        row[..width].copy_from_slice(&input[start + i * columns..][..width]);
                        row[width..].fill(T::ZERO);
                    }
                    part
                });
                compute(parts.each_mut().map(|part| &mut **part));
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
    log: bool,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn needs_output(&self) -> bool {
        true
    }

    fn backward(&self, upstream: Upstream<'_>) -> Result<Downstream> {
        let (gradient, output) = (upstream.gradient, upstream.output()?);
        let (g, y) = (CpuView::of(gradient)?, CpuView::of(output)?);
        let inputs = [g.as_slice::<T>()?, y.as_slice::<T>()?];
        let of_x = self
            .grid
            .map(inputs, |[g, y]| gradient_block(g, y, self.log));
        of_first(of_x, gradient.shape())
    }

    fn recorded(&self, upstream: &Recorded<'_>) -> Result<Downstream> {
        let Grid {
            outer,
            rows,
            columns,
        } = self.grid;
        let grid = (outer, rows, columns);
        let (g, y) = (upstream.g().reshape(grid), upstream.output()?.reshape(grid));
        let of_x = recorded_gradient(&g, &y, 1, self.log);
        Ok([
            Some(of_x.reshape(upstream.gradient.dims()).into()),
            None,
            None,
        ])
    }
}

/// Computes the gradient of the logits from the gradient of the output along a dimension, recorded.
pub(super) fn recorded_gradient(g: &Tensor, y: &Tensor, dim: i32, log: bool) -> Tensor {
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
