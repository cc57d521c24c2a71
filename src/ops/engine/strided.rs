//! Copies the elements of a strided tensor, such as a transposed matrix, into one piece of memory.

use super::CpuView;
use super::shared_slice::{SharedSlice, vec_filled_by};
use super::simd::Element;
use super::threads::for_each_task;
use crate::ops::check::output;
use crate::tensor::Raw;
use candle_core::{DType, Result};
use std::mem::MaybeUninit;

/// The number of rows and columns that are transposed together: elements that are adjacent in the input are then
/// read together, although they are in different rows of the output.
const TILE: usize = 16;
/// The rows and columns that vectors hold while they are transposed.
const SQUARE: usize = 4;
/// The elements that one task copies.
const TASK: usize = 1 << 13;

/// Returns the tensor with its elements one after the other, so that kernels can read it as a slice, and without its
/// graph.
pub(crate) fn in_order(x: &Raw) -> Result<Raw> {
    let copied = !x.is_contiguous() && x.elem_count() > 0 && x.device().is_cpu();
    match x.dtype() {
        DType::F32 if copied => copy::<f32>(x),
        DType::F64 if copied => copy::<f64>(x),
        _ => x.values().contiguous().map(Raw::from),
    }
}

fn copy<T: Element>(x: &Raw) -> Result<Raw> {
    Raw::from_vec(elements::<T>(x)?, x.dims(), x.device())
}

/// Returns the elements of a tensor that is not empty, in the order of its indices.
pub(in crate::ops) fn elements<T: Element>(x: &Raw) -> Result<Vec<T>> {
    output(&"contiguous", x.dims(), x)?;
    let view = CpuView::of_strided(x)?;
    let values = view.as_slice::<T>()?;
    let copy = StridedCopy::of(x.dims(), x.stride(), &in_order_of(x.dims()));
    // SAFETY: the blocks cover all indices.
    Ok(unsafe { vec_filled_by(x.elem_count(), |out| copy.run::<T, false>(values, out)) })
}

/// Adds the elements of a tensor that is not empty to those of `out` at these strides, which must differ for different
/// elements.
pub(in crate::ops) fn add_strided<T: Element>(
    x: &Raw,
    strides: &[usize],
    out: &mut [T],
) -> Result<()> {
    let view = CpuView::of_strided(x)?;
    let values = view.as_slice::<T>()?;
    // SAFETY: `T` and `MaybeUninit<T>` have the same layout, and only elements are written.
    let out = unsafe { &mut *(std::ptr::from_mut(out) as *mut [MaybeUninit<T>]) };
    StridedCopy::of(x.dims(), x.stride(), strides).run::<T, true>(values, SharedSlice::new(out));
    Ok(())
}

/// Returns the strides of a contiguous tensor.
pub(in crate::ops) fn in_order_of(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for dim in (1..dims.len()).rev() {
        strides[dim - 1] = strides[dim] * dims[dim];
    }
    strides
}

/// A dimension of a copy: its size, and the distances from one index to the next in the input (`from`) and in the
/// output (`to`).
struct Dimension {
    size: usize,
    from: usize,
    to: usize,
}

/// The plan of a copy: a matrix is copied for each index of the outer dimensions.
struct StridedCopy {
    outer: Vec<Dimension>,
    rows: Dimension,
    /// The columns, which are adjacent in the output.
    columns: Dimension,
}

impl StridedCopy {
    fn of(dims: &[usize], from: &[usize], to: &[usize]) -> Self {
        let mut outer = merged(dims, from, to);
        let last = outer.pop_if(|last| last.to == 1);
        let columns = last.unwrap_or(Dimension {
            size: 1,
            from: 1,
            to: 1,
        });
        // If the columns are not adjacent in the input, the rows are the dimension with the least distance there.
        let rows = match columns.from {
            0 | 1 => outer.len().checked_sub(1),
            _ => (0..outer.len()).min_by_key(|&i| (outer[i].from == 0, outer[i].from)),
        };
        let rows = rows.map(|i| outer.remove(i));
        let rows = rows.unwrap_or(Dimension {
            size: 1,
            from: 0,
            to: 0,
        });
        StridedCopy {
            outer,
            rows,
            columns,
        }
    }

    /// Writes the elements of the output or, with `ADD`, adds to those that are there.
    fn run<T: Element, const ADD: bool>(&self, values: &[T], out: SharedSlice<MaybeUninit<T>>) {
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
                let from = from + row * self.rows.from + column * self.columns.from;
                self.copy_block::<T, ADD>(
                    high.min(self.rows.size - row),
                    wide.min(self.columns.size - column),
                    &values[from..],
                    to + row * self.rows.to + column,
                    out,
                );
            }
        });
    }

    /// Returns how many rows and columns are copied together.
    fn block(&self) -> (usize, usize) {
        let (rows, columns) = (self.rows.size, self.columns.size);
        if self.columns.from <= 1 {
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
            from += here * dimension.from;
            to += here * dimension.to;
        }
        (from, to)
    }

    /// Copies a block, which begins with `values` in the input and at index `to` in the output.
    fn copy_block<T: Element, const ADD: bool>(
        &self,
        rows: usize,
        columns: usize,
        values: &[T],
        to: usize,
        out: SharedSlice<MaybeUninit<T>>,
    ) {
        // SAFETY: each element of the output belongs to one row of one matrix.
        let part = |row, first, count| unsafe { out.part(to + row * self.rows.to + first, count) };
        if self.columns.from == 0 {
            for row in 0..rows {
                let value = std::iter::repeat(&values[row * self.rows.from]);
                put::<T, ADD>(part(row, 0, columns), value);
            }
            return;
        }
        if self.columns.from == 1 {
            for row in 0..rows {
                let row_of_input = &values[row * self.rows.from..][..columns];
                put::<T, ADD>(part(row, 0, columns), row_of_input);
            }
            return;
        }
        for first_row in (0..rows).step_by(TILE) {
            for first in (0..columns).step_by(TILE) {
                let high = TILE.min(rows - first_row);
                let wide = TILE.min(columns - first);
                let start = first_row * self.rows.from + first * self.columns.from;
                let part = |row, column, count| part(first_row + row, first + column, count);
                self.copy_tile::<T, ADD>(high, wide, &values[start..], part);
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
        part: impl Fn(usize, usize, usize) -> &'a mut [MaybeUninit<T>],
    ) {
        let (down, across) = (self.rows.from, self.columns.from);
        let [high_squares, wide_squares] = match down {
            1 => [high, wide].map(|size| size / SQUARE * SQUARE),
            _ => [0, 0],
        };
        for row in (0..high_squares).step_by(SQUARE) {
            for column in (0..wide_squares).step_by(SQUARE) {
                let square = transposed(&values[column * across + row..], across);
                for (i, values) in square.iter().enumerate() {
                    put::<T, ADD>(part(row + i, column, SQUARE), values);
                }
            }
        }
        for row in 0..high {
            let left = if row < high_squares { wide_squares } else { 0 };
            let values = &values[row * down..];
            for (i, out) in part(row, left, wide - left).iter_mut().enumerate() {
                put::<T, ADD>(std::slice::from_mut(out), [&values[(left + i) * across]]);
            }
        }
    }
}

/// Returns the transposed square whose rows begin `step` after each other.
#[inline(always)]
fn transposed<T: Element>(values: &[T], step: usize) -> [[T; SQUARE]; SQUARE] {
    let mut square = [[T::ZERO; SQUARE]; SQUARE];
    for column in 0..SQUARE {
        let values = &values[column * step..][..SQUARE];
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

/// Returns the dimensions without those of size 1, in the order of the output. Adjacent dimensions are merged where the
/// strides allow it.
fn merged(dims: &[usize], from: &[usize], to: &[usize]) -> Vec<Dimension> {
    let mut sorted: Vec<usize> = (0..dims.len()).filter(|dim| dims[*dim] != 1).collect();
    sorted.sort_by_key(|dim| std::cmp::Reverse(to[*dim]));
    let mut merged: Vec<Dimension> = vec![];
    for dim in sorted {
        let (size, from, to) = (dims[dim], from[dim], to[dim]);
        match merged.last_mut() {
            Some(before) if before.from == size * from && before.to == size * to => {
                *before = Dimension {
                    size: before.size * size,
                    from,
                    to,
                };
            }
            _ => merged.push(Dimension { size, from, to }),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{rand, with_seed};

    #[test]
    fn copies_agree_with_candle() -> Result<()> {
        let shapes: [&[usize]; 8] = [
            &[5],
            &[37, 70],
            &[2, 70_000],
            &[70_000, 3],
            &[3, 4, 5, 6],
            &[2, 33, 17],
            &[1, 300, 1, 130],
            &[2, 1, 5, 3, 4],
        ];
        for (seed, shape) in shapes.iter().enumerate() {
            for dtype in [DType::F32, DType::F64] {
                let x = with_seed(seed as u64, || rand(*shape)).to_dtype(dtype);
                for x in views(x.raw())? {
                    let copy = in_order(&x)?;
                    let what = format!("{:?} {:?}", x.dims(), x.stride());
                    assert!(copy.is_contiguous(), "{what}");
                    let flat = |x: &Raw| x.flatten_all()?.to_dtype(DType::F64)?.to_vec1::<f64>();
                    assert_eq!(flat(&copy)?, flat(&x.contiguous()?)?, "{what}");
                }
            }
        }
        Ok(())
    }

    /// Returns the tensor with its dimensions in other orders, parts of those, and repetitions.
    fn views(x: &Raw) -> Result<Vec<Raw>> {
        let mut views = vec![x.clone()];
        for first in 0..x.rank() {
            for second in first + 1..x.rank() {
                views.push(x.transpose(first, second)?);
            }
        }
        let mut order: Vec<usize> = (0..x.rank()).collect();
        order.rotate_left(1);
        views.push(x.permute(order.clone())?);
        order.reverse();
        views.push(x.permute(order)?);
        for i in 0..views.len() {
            let view = views[i].clone();
            for (dim, &size) in view.dims().iter().enumerate() {
                views.push(view.narrow(dim, size / 2, size - size / 2)?);
            }
            let more = [&[3], view.dims(), &[2]].concat();
            views.push(view.unsqueeze(view.rank())?.broadcast_as(more)?);
        }
        Ok(views)
    }
}
