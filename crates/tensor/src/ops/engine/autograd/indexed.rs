//! Elements at places that indices choose, and elements added at such places: each is the backward pass of the other.

use super::recorded_linear;
use crate::ops::check::{in_single, is_half};
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{CpuView, with_elements};
use crate::tensor::Raw;
use candle_core::{Device, Result, WithDType};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;
use taper_compute::runs::Runs;
use taper_compute::whole_rows;
use taper_compute::write::{self, Parts};

/// The elements of one task.
const CHUNK: usize = 1 << 14;
/// The largest number of tasks that go through the same indices, and the elements of a base that is worth one of them
/// whatever an index is for.
const PARTS: usize = 32;
const LARGE: usize = 1 << 17;

/// Where the elements of one tensor are in another one, the base: as `i64` indices of a dimension say.
pub(in crate::ops) struct IndexedCopy {
    indices: Raw,
    /// The shapes of the base and of the tensor of the chosen elements.
    base: Vec<usize>,
    shape: Vec<usize>,
    /// The number of indices that are valid, and the distance in the base from one to the next.
    size: usize,
    stride: usize,
    /// The number of adjacent elements that belong to an index.
    run: usize,
    /// The number of indices in a row, and how far the elements move in the base from one index to the next, besides what the
    /// indices say.
    row: usize,
    step: usize,
    /// The sizes of the dimensions before the row, and the distances in the base.
    outer: Vec<usize>,
    steps: Vec<usize>,
    /// Whether all rows have the same indices.
    is_shared: bool,
}

impl IndexedCopy {
    /// The parts at the indices of a dimension: `index_select`. The indices are contiguous.
    pub(in crate::ops) fn of_parts(indices: Raw, base: &[usize], dim: usize) -> Self {
        let [outer, run] = [&base[..dim], &base[dim + 1..]].map(|dims| dims.iter().product());
        let mut shape = base.to_vec();
        shape[dim] = indices.elem_count();
        let sizes = [outer, shape[dim]];
        IndexedCopy {
            base: base.to_vec(),
            shape,
            run,
            ..IndexedCopy::new(indices, &[outer, base[dim], run], &sizes, 1, true)
        }
    }

    /// An element for each index: `gather`. In the other dimensions, it is at the same place as the index in `indices`, which
    /// are contiguous.
    pub(in crate::ops) fn of_elements(indices: Raw, base: &[usize], dim: usize) -> Self {
        let shape = indices.dims().to_vec();
        IndexedCopy {
            base: base.to_vec(),
            ..IndexedCopy::new(indices, base, &shape, dim, false)
        }
        .shaped(shape)
    }

    /// Returns a copy with indices of these sizes. Dimensions of size 1 are left out, and adjacent ones are merged.
    fn new(indices: Raw, base: &[usize], sizes: &[usize], dim: usize, is_shared: bool) -> Self {
        let stride = |dim: usize| base[dim + 1..].iter().product::<usize>();
        let (mut outer, mut steps, mut row) = (vec![], vec![], (1, 0));
        for (i, &size) in sizes.iter().enumerate() {
            let step = if i == dim { 0 } else { stride(i) };
            match row {
                _ if size == 1 && !is_shared => {}
                (1, _) => row = (size, step),
                (before, distance) if distance == size * step => row = (before * size, step),
                (before, distance) => {
                    outer.push(before);
                    steps.push(distance);
                    row = (size, step);
                }
            }
        }
        IndexedCopy {
            indices,
            base: vec![],
            shape: vec![],
            size: base[dim],
            stride: stride(dim),
            run: 1,
            row: row.0,
            step: row.1,
            outer,
            steps,
            is_shared,
        }
    }

    /// The elements at these positions in the order of the base's elements.
    pub(in crate::ops) fn at(positions: Vec<i64>, base: &[usize], shape: &[usize]) -> Result<Self> {
        let count = positions.len();
        let positions = Raw::from_vec(positions, count, &Device::Cpu)?;
        let copy = IndexedCopy::of_parts(positions, &[base.iter().product()], 0);
        Ok(IndexedCopy {
            base: base.to_vec(),
            ..copy.shaped(shape.to_vec())
        })
    }

    /// Returns the chosen elements in another shape.
    pub(in crate::ops) fn shaped(self, shape: Vec<usize>) -> Self {
        IndexedCopy { shape, ..self }
    }

    /// Returns the elements of a tensor of the base's shape. If an index is out of range, `check` returns the error.
    pub(in crate::ops) fn take(self, x: &Raw, check: impl FnOnce() -> Result<()>) -> Result<Raw> {
        let (y, all_fit) = self.taken_of(x)?;
        if !all_fit {
            check()?;
        }
        Ok(recorded_take(x, y, || Arc::new(self)))
    }

    /// Returns zeros of the base's shape to which the elements of a tensor are added. The indices are in range.
    pub(in crate::ops) fn add(self, x: &Raw) -> Result<Raw> {
        Arc::new(self).added(x)
    }

    fn added(self: Arc<Self>, x: &Raw) -> Result<Raw> {
        if is_half(x) {
            return in_single([x], |[x]| self.added(&x));
        }
        let input = in_order(x)?;
        let view = CpuView::of(&input)?;
        let sums = with_elements!(view, |g| {
            Raw::from_vec(self.sums(g)?, &self.base[..], &Device::Cpu)
        })?;
        Ok(recorded_linear(x, sums, || {
            move |x: &Raw| {
                let (y, _) = self.taken_of(x)?;
                Ok(recorded_take(x, y, || self.clone()))
            }
        }))
    }

    /// Returns the elements at the indices, and whether all are in range.
    fn taken_of(&self, x: &Raw) -> Result<(Raw, bool)> {
        let input = in_order(x)?;
        let view = CpuView::of(&input)?;
        with_elements!(view, |values| {
            let (taken, all_fit) = self.taken(values)?;
            Ok((
                Raw::from_vec(taken, &self.shape[..], &Device::Cpu)?,
                all_fit,
            ))
        })
    }

    fn taken<T: WithDType>(&self, values: &[T]) -> Result<(Vec<T>, bool)> {
        let (run, count) = (self.run, self.shape.iter().product());
        if count == 0 || values.is_empty() {
            return Ok((vec![T::from_f64(0.0); count], false));
        }
        let view = CpuView::of(&self.indices)?;
        let indices = view.as_slice::<i64>()?;
        let (taken, fits) = write::with_results(count, whole_rows(CHUNK, run), |first, out| {
            let positions = first / run..(first + out.len()) / run;
            let (mut parts, mut all_fit) = (Parts::new(out), true);
            self.for_each_row(indices, positions, |start, _, indices| {
                all_fit &= self.take_row(&values[start..], indices, &mut parts);
            });
            (parts.finish(), all_fit)
        });
        Ok((taken, !fits.contains(&false)))
    }

    /// Calls `visit` for each row, or part of one, in a range of the chosen elements: with where in the base it begins, the
    /// position of its first element, and its indices.
    #[inline(always)]
    fn for_each_row(
        &self,
        indices: &[i64],
        positions: Range<usize>,
        mut visit: impl FnMut(usize, usize, &[i64]),
    ) {
        let (mut at, mut within) = (positions.start, positions.start % self.row);
        let mut row = at / self.row;
        let mut runs = Runs::at(row, &self.outer, [&self.steps]);
        while at < positions.end {
            // With one dimension before the row there is nothing to walk through.
            let start = match self.steps[..] {
                [] => 0,
                [step] => row * step,
                _ => runs.starts[0],
            };
            let count = (self.row - within).min(positions.end - at);
            let first = if self.is_shared { within } else { at };
            visit(start + within * self.step, at, &indices[first..][..count]);
            if self.steps.len() > 1 {
                runs.advance();
            }
            (at, row, within) = (at + count, row + 1, 0);
        }
    }

    /// Writes the elements of a row, which begins with `values` in the base. Returns whether all indices are in range.
    #[inline(always)]
    fn take_row<T: WithDType>(
        &self,
        values: &[T],
        indices: &[i64],
        parts: &mut Parts<'_, T>,
    ) -> bool {
        match (self.run, self.step, self.stride) {
            (1, step, stride) => {
                let out = parts.next(indices.len());
                let (out, all_fit) = match (step, stride) {
                    (0, 1) => pick(&values[..self.size], indices, out),
                    _ => pick_stepped(values, indices, [self.size, step, stride], out),
                };
                parts.push(out);
                all_fit
            }
            (run, ..) => {
                let mut all_fit = true;
                for index in indices {
                    let fits = (*index as usize) < self.size;
                    all_fit &= fits;
                    let index = if fits { *index as usize } else { 0 };
                    parts.copy(&values[index * run..][..run]);
                }
                all_fit
            }
        }
    }

    fn sums<T: WithDType>(&self, g: &[T]) -> Result<Vec<T>> {
        let (zero, run, count) = (T::from_f64(0.0), self.run, self.base.iter().product());
        if g.is_empty() {
            return Ok(vec![zero; count]);
        }
        let view = CpuView::of(&self.indices)?;
        let indices = view.as_slice::<i64>()?;
        let positions = g.len() / run;
        // The blocks of the base that belong to different indices of the first dimension are disjoint, unless it is the
        // dimension of the indices. If there is no other dimension, each task goes through all indices.
        let (first_size, block) = match (self.outer.first(), self.steps.first()) {
            (Some(size), Some(step)) => (*size, *step),
            _ => (self.row, self.step),
        };
        let (chunk, block, each) = match block {
            0 if self.outer.is_empty() => {
                let parts = (g.len() / CHUNK)
                    .clamp(1, PARTS)
                    .min(run.max(count / LARGE));
                let chunk = count.div_ceil(parts).next_multiple_of(run);
                (chunk, count, positions)
            }
            block if block >= self.size * self.stride => {
                (whole_rows(CHUNK, block), block, positions / first_size)
            }
            _ => (count, count, positions),
        };
        Ok(write::by_chunks(count, chunk, |first, out| {
            let out = write::fill(out, zero);
            let end = (first + out.len()).div_ceil(block) * each;
            let rows = first / block * each..end.min(positions);
            self.for_each_row(indices, rows, |start, at, indices| {
                let g = &g[at * run..][..indices.len() * run];
                self.add_row(g, indices, start.wrapping_sub(first), out);
            });
            out
        }))
    }

    /// Adds the elements of a row, which begins at index `start` of `out`, as far as they are in it.
    #[inline(always)]
    fn add_row<T: WithDType>(&self, g: &[T], indices: &[i64], start: usize, out: &mut [T]) {
        match (self.run, self.step, self.stride) {
            (1, 0, 1) => {
                for (g, index) in g.iter().zip(indices) {
                    if let Some(sum) = out.get_mut(start.wrapping_add(*index as usize)) {
                        *sum += *g;
                    }
                }
            }
            (1, step, stride) => {
                for ((g, index), i) in g.iter().zip(indices).zip(0..) {
                    let place = start.wrapping_add(i * step + *index as usize * stride);
                    if let Some(sum) = out.get_mut(place) {
                        *sum += *g;
                    }
                }
            }
            (run, ..) => {
                for (g, index) in g.chunks_exact(run).zip(indices) {
                    let place = start.wrapping_add(*index as usize * run);
                    if place < out.len() {
                        for (sum, g) in out[place..][..run].iter_mut().zip(g) {
                            *sum += *g;
                        }
                    }
                }
            }
        }
    }
}

/// Returns the chosen elements `y` of `x`, recorded.
fn recorded_take(x: &Raw, y: Raw, copy: impl FnOnce() -> Arc<IndexedCopy>) -> Raw {
    recorded_linear(x, y, || {
        let copy = copy();
        move |g: &Raw| copy.clone().added(g)
    })
}

/// Writes the values at the indices, and returns whether all are in range. As a separate function, it lets the compiler know
/// that the output and the values are different memory.
fn pick<'a, T: Copy>(
    values: &[T],
    indices: &[i64],
    out: &'a mut [MaybeUninit<T>],
) -> (&'a mut [T], bool) {
    let mut all_fit = true;
    let taken = indices.iter().map(|index| {
        // A negative index is a large one without its sign.
        let value = values.get(*index as usize);
        all_fit &= value.is_some();
        value.copied().unwrap_or(values[0])
    });
    (write::each(out, taken), all_fit)
}

/// Does the same for values that begin `step` after each other, and are `stride` apart for different indices.
fn pick_stepped<'a, T: Copy>(
    values: &[T],
    indices: &[i64],
    [size, step, stride]: [usize; 3],
    out: &'a mut [MaybeUninit<T>],
) -> (&'a mut [T], bool) {
    let mut all_fit = true;
    let taken = indices.iter().zip(0..).map(|(index, i)| {
        let fits = (*index as usize) < size;
        all_fit &= fits;
        let index = if fits { *index as usize } else { 0 };
        values[i * step + index * stride]
    });
    (write::each(out, taken), all_fit)
}
