//! Copies of strided elements, such as a transposed matrix, into one piece of memory.

use crate::shared_slice::{SharedSlice, vec_filled_by};
use crate::simd::multiversion;
use crate::threads::for_each_task;
use std::cmp::Reverse;
use std::mem::MaybeUninit;
use std::ops::AddAssign;

/// The number of rows and columns that are transposed together: elements that are adjacent in the input are then
/// read together, although they are in different rows of the output.
const TILE: usize = 16;
/// The rows and columns that vectors hold while they are transposed.
const SQUARE: usize = 4;
/// The elements that one task copies.
const TASK: usize = 1 << 13;

/// An element of a tensor, of any type.
pub trait Element: Copy + AddAssign + Send + Sync + 'static {}

impl<T: Copy + AddAssign + Send + Sync + 'static> Element for T {}

/// Returns elements in the order of their indices, which is reversed along some dimensions. The first element is
/// `values[0]`, the others are at these distances. No size is 0.
///
/// # Panics
/// If an element is not within the values.
pub fn copied<T: Element>(
    values: &[T],
    sizes: &[usize],
    strides: &[usize],
    reversed: &[usize],
) -> Vec<T> {
    assert_eq!(sizes.len(), strides.len(), "a distance for each dimension");
    let (mut first, mut dims) = (0, Vec::with_capacity(sizes.len()));
    let to = in_order_of(sizes);
    for (dim, (&size, &step)) in sizes.iter().zip(strides).enumerate() {
        let mut from = step;
        if reversed.contains(&dim) {
            first += (size - 1) * step;
            from = step.wrapping_neg();
        }
        let to = to[dim];
        dims.push(Dimension { size, from, to });
    }
    let copy = StridedCopy::of(dims);
    // SAFETY: the blocks cover all indices.
    unsafe {
        vec_filled_by(sizes.iter().product(), |out| {
            copy.run::<T, false>(values, first, out);
        })
    }
}

/// Adds elements, of which the first is `values[0]`, to those of `out`. The distances in both follow the sizes, none of
/// which is 0.
///
/// # Panics
/// If an element is not within the values or within `out`, or two are added to the same place.
pub fn add<T: Element>(
    values: &[T],
    sizes: &[usize],
    strides: &[usize],
    out: &mut [T],
    out_strides: &[usize],
) {
    let dims = sizes.iter().zip(strides).zip(out_strides);
    let dims: Vec<Dimension> = dims
        .map(|((&size, &from), &to)| Dimension { size, from, to })
        .collect();
    assert!(are_apart(&dims), "two elements are added to one place");
    // SAFETY: `T` and `MaybeUninit<T>` have the same layout, and only elements are written.
    let out = unsafe { &mut *(std::ptr::from_mut(out) as *mut [MaybeUninit<T>]) };
    StridedCopy::of(dims).run::<T, true>(values, 0, SharedSlice::new(out));
}

/// Returns whether each distance in the output is larger than all that the dimensions with smaller distances reach.
fn are_apart(dims: &[Dimension]) -> bool {
    let mut dims: Vec<_> = dims.iter().filter(|dim| dim.size > 1).collect();
    dims.sort_by_key(|dim| dim.to);
    let mut reach = 0;
    dims.iter().all(|dim| {
        let is_apart = dim.to > reach;
        reach += (dim.size - 1) * dim.to;
        is_apart
    })
}

/// Returns the strides of a contiguous tensor.
pub fn in_order_of(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for dim in (1..dims.len()).rev() {
        strides[dim - 1] = strides[dim] * dims[dim];
    }
    strides
}

/// Returns the distance from each element to the next, in the order of the indices, if it is always the same one.
pub fn even_step(dims: &[usize], strides: &[usize]) -> Option<usize> {
    let (mut step, mut count) = (None, 1);
    for (size, stride) in dims
        .iter()
        .zip(strides)
        .rev()
        .filter(|(size, _)| **size != 1)
    {
        if *step.get_or_insert(*stride) * count != *stride {
            return None;
        }
        count *= size;
    }
    step.or(Some(1))
}

/// A dimension of a copy: its size, and the distances from one index to the next in the input (`from`) and in the
/// output (`to`). A distance in the input may be negative: it is added with a wrap.
#[derive(Clone, Copy)]
struct Dimension {
    size: usize,
    from: usize,
    to: usize,
}

/// A dimension that changes nothing.
const ONE: Dimension = Dimension {
    size: 1,
    from: 1,
    to: 1,
};
/// The distance in a dimension that is reversed.
const REVERSED: usize = usize::MAX;

/// Returns the index in the input that is `count` steps after another one.
#[inline(always)]
fn after(index: usize, count: usize, step: usize) -> usize {
    index.wrapping_add(count.wrapping_mul(step))
}

/// The plan of a copy: a matrix is copied for each index of the outer dimensions.
struct StridedCopy {
    outer: Vec<Dimension>,
    rows: Dimension,
    /// The columns, which are adjacent in the output.
    columns: Dimension,
}

impl StridedCopy {
    fn of(dims: Vec<Dimension>) -> Self {
        let mut outer = merged(dims);
        let columns = outer.pop_if(|last| last.to == 1).unwrap_or(ONE);
        // If the columns are not adjacent in the input, the rows are the dimension with the least distance there.
        let distance = |i: &usize| (outer[*i].from as isize).unsigned_abs();
        let rows = match columns.from {
            0 | 1 | REVERSED => outer.len().checked_sub(1),
            _ => (0..outer.len()).min_by_key(|i| (distance(i) == 0, distance(i))),
        };
        let rows = rows.map_or(ONE, |i| outer.remove(i));
        StridedCopy {
            outer,
            rows,
            columns,
        }
    }

    /// Writes the elements of the output or, with `ADD`, adds to those that are there. The input begins at index `first`.
    fn run<T: Element, const ADD: bool>(
        &self,
        values: &[T],
        first: usize,
        out: SharedSlice<MaybeUninit<T>>,
    ) {
        let (high, wide) = self.block();
        let (down, across) = (
            self.rows.size.div_ceil(high),
            self.columns.size.div_ceil(wide),
        );
        let matrices = self.outer.iter().map(|d| d.size).product::<usize>();
        let blocks = matrices * down * across;
        let together = (TASK / (high * wide)).max(1);
        for_each_task(blocks.div_ceil(together), |task| {
            for block in task * together..((task + 1) * together).min(blocks) {
                let (matrix, within) = (block / (down * across), block % (down * across));
                let (row, column) = (within / across * high, within % across * wide);
                let (from, to) = self.offsets(matrix);
                let from = after(first.wrapping_add(from), row, self.rows.from);
                self.copy_block::<T, ADD>(
                    high.min(self.rows.size - row),
                    wide.min(self.columns.size - column),
                    values,
                    after(from, column, self.columns.from),
                    to + row * self.rows.to + column,
                    out,
                );
            }
        });
    }

    /// Returns how many rows and columns are copied together.
    fn block(&self) -> (usize, usize) {
        let (rows, columns) = (self.rows.size, self.columns.size);
        if let 0 | 1 | REVERSED = self.columns.from {
            let wide = columns.min(TASK);
            return ((TASK / wide).min(rows), wide);
        }
        let wide = columns.min(TASK / TILE);
        ((TASK / wide).next_multiple_of(TILE).min(rows), wide)
    }

    /// Returns where a matrix begins in the input and in the output.
    fn offsets(&self, mut index: usize) -> (usize, usize) {
        let (mut from, mut to) = (0, 0);
        for dimension in self.outer.iter().rev() {
            let here = index % dimension.size;
            index /= dimension.size;
            from = after(from, here, dimension.from);
            to += here * dimension.to;
        }
        (from, to)
    }

    /// Copies a block, which begins at these indices of the input and of the output.
    fn copy_block<T: Element, const ADD: bool>(
        &self,
        rows: usize,
        columns: usize,
        values: &[T],
        from: usize,
        to: usize,
        out: SharedSlice<MaybeUninit<T>>,
    ) {
        // SAFETY: each element of the output belongs to one row of one matrix.
        let part = |row, first, count| unsafe { out.part(to + row * self.rows.to + first, count) };
        let (down, across) = (self.rows.from, self.columns.from);
        match across {
            0 => {
                for row in 0..rows {
                    let value = std::iter::repeat(&values[after(from, row, down)]);
                    put::<T, ADD>(part(row, 0, columns), value);
                }
            }
            1 => {
                for row in 0..rows {
                    let row_of_input = &values[after(from, row, down)..][..columns];
                    match ADD {
                        true => put::<T, ADD>(part(row, 0, columns), row_of_input),
                        false => _ = part(row, 0, columns).write_copy_of_slice(row_of_input),
                    }
                }
            }
            // The output's rows are adjacent, or there is one.
            REVERSED if !ADD => {
                let first = after(from, columns - 1, REVERSED);
                reverse_rows(values, first, down, part(0, 0, rows * columns), columns);
            }
            _ => {
                for row in (0..rows).step_by(TILE) {
                    for column in (0..columns).step_by(TILE) {
                        let high = TILE.min(rows - row);
                        let wide = TILE.min(columns - column);
                        let from = after(after(from, row, down), column, across);
                        let part = |i, first, count| part(row + i, column + first, count);
                        self.copy_tile::<T, ADD>(high, wide, values, from, part);
                    }
                }
            }
        }
    }

    /// Copies a tile, of which `part` returns parts of the output's rows: squares if they are adjacent in the input, and
    /// what is left element by element.
    #[inline(always)]
    fn copy_tile<'a, T: Element, const ADD: bool>(
        &self,
        high: usize,
        wide: usize,
        values: &[T],
        from: usize,
        part: impl Fn(usize, usize, usize) -> &'a mut [MaybeUninit<T>],
    ) {
        let (down, across) = (self.rows.from, self.columns.from);
        let [high_squares, wide_squares] = match down {
            1 => [high, wide].map(|size| size / SQUARE * SQUARE),
            _ => [0, 0],
        };
        for row in (0..high_squares).step_by(SQUARE) {
            for column in (0..wide_squares).step_by(SQUARE) {
                let square = transposed(values, after(from, column, across) + row, across);
                for (i, values) in square.iter().enumerate() {
                    put::<T, ADD>(part(row + i, column, SQUARE), values);
                }
            }
        }
        for row in 0..high {
            let left = if row < high_squares { wide_squares } else { 0 };
            let from = after(from, row, down);
            for (i, out) in part(row, left, wide - left).iter_mut().enumerate() {
                let value = &values[after(from, left + i, across)];
                put::<T, ADD>(std::slice::from_mut(out), [value]);
            }
        }
    }
}

/// Returns the transposed square whose rows begin `step` after each other.
#[inline(always)]
fn transposed<T: Copy>(values: &[T], from: usize, step: usize) -> [[T; SQUARE]; SQUARE] {
    let mut square = [[values[from]; SQUARE]; SQUARE];
    for column in 0..SQUARE {
        let values = &values[after(from, column, step)..][..SQUARE];
        for (row, value) in square.iter_mut().zip(values) {
            row[column] = *value;
        }
    }
    square
}

/// Writes values or, with `ADD`, adds them to those that are there.
#[inline(always)]
fn put<'a, T: Element, const ADD: bool>(
    out: &mut [MaybeUninit<T>],
    values: impl IntoIterator<Item = &'a T>,
) {
    for (out, value) in out.iter_mut().zip(values) {
        match ADD {
            // SAFETY: what is added to has been initialised.
            true => unsafe { *out.assume_init_mut() += *value },
            false => _ = out.write(*value),
        }
    }
}

/// The elements that are reversed together: short rows, too, have such blocks.
const BLOCK: usize = 8;

#[inline(always)]
fn reverse<T: Copy>(values: &[T; BLOCK], out: &mut [MaybeUninit<T>; BLOCK]) {
    for i in 0..BLOCK {
        out[i].write(values[BLOCK - 1 - i]);
    }
}

multiversion! {
    cheap true;
    /// Writes rows in reverse order. The input's rows begin `step` after each other. A call for each row would take longer
    /// than the row.
    fn reverse_rows<T: Copy>(
        values: &[T],
        first: usize,
        step: usize,
        out: &mut [MaybeUninit<T>],
        columns: usize,
    ) {
        for (row, out) in out.chunks_exact_mut(columns).enumerate() {
            let values = &values[after(first, row, step)..][..columns];
            let blocks = out.as_chunks_mut::<BLOCK>().0.iter_mut();
            let (rest, reversed) = values.as_rchunks::<BLOCK>();
            for (out, block) in blocks.zip(reversed.iter().rev()) {
                reverse(block, out);
            }
            match (values.first_chunk(), out.last_chunk_mut()) {
                _ if rest.is_empty() => {}
                // This block overlaps the one before: the rest one by one would take longer than the blocks.
                (Some(block), Some(out)) => reverse(block, out),
                _ => {
                    for (out, value) in out.iter_mut().zip(rest.iter().rev()) {
                        out.write(*value);
                    }
                }
            }
        }
    }
}

/// Returns the dimensions without those of size 1, in the order of the output. Adjacent dimensions are merged where the
/// strides allow it.
fn merged(mut merged: Vec<Dimension>) -> Vec<Dimension> {
    merged.retain(|dimension| dimension.size != 1);
    merged.sort_by_key(|dimension| Reverse(dimension.to));
    merged.dedup_by(|next, before| {
        let is_adjacent =
            before.from == next.size.wrapping_mul(next.from) && before.to == next.size * next.to;
        if is_adjacent {
            let size = before.size * next.size;
            *before = Dimension { size, ..*next };
        }
        is_adjacent
    });
    merged
}

#[cfg(test)]
mod tests;
