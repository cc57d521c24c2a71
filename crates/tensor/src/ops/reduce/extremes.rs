//! The largest and smallest values along a dimension, and their indices.

use super::sums::sum_as;
use super::{CHUNK, TASK};
use crate::error::OrRaise;
use crate::ops::arithmetic::{Arithmetic, arithmetic_number, compare};
use crate::ops::check;
use crate::ops::dispatch::run;
use crate::ops::engine::autograd::{
    Downstream, IndexedCopy, Needs, Upstream, are_tracked, has_kernel, kernel, of_first, record,
};
use crate::ops::engine::read::read;
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{Element, dispatch_dtype};
use crate::ops::select::chosen;
use crate::tensor::{Axis, Raw, Tensor};
use candle_core::op::CmpOp;
use candle_core::{DType, Device, Result};
use taper_compute::extremes::{
    count, distribute, extremes_of_columns, extremes_of_rows, pick, places_in_columns,
    places_in_rows,
};
use taper_compute::threads::{map_chunks, map_tasks};
use taper_compute::whole_rows;
use taper_compute::write::{self, Parts};

/// The largest number of columns of one task.
const WIDTH: usize = 512;

/// Defines the public functions for the largest or the smallest values.
macro_rules! extremes {
    ($($values:ident $keepdim:ident $all:ident $indices:ident: $what:literal, $smallest:literal, $example:literal;)*) => {$(
        #[doc = concat!("Returns the ", $what, " values along a dimension, which is removed from the shape; NaN if one of the values is NaN.")]
        #[doc = concat!("[`", stringify!($indices), "`] returns their indices.")]
        ///
        /// The gradient goes to the first of equal values, as in PyTorch's `x.max(dim).values`.
        ///
        /// # Panics
        /// If there is no such dimension, or its size is 0.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[[1.0, 5.0], [3.0, 4.0]]); // (2, 2)
        #[doc = concat!("assert_eq!(", stringify!($values), "(&x, 0).to_vec1::<f32>(), ", $example, ");")]
        /// ```
        #[inline]
        #[track_caller]
        pub fn $values(x: &Tensor, dim: impl Into<Axis>) -> Tensor {
            let dim = dim.into();
            values(stringify!($values), x.raw(), dim, $smallest, false).or_raise().into()
        }

        #[doc = concat!("Returns the ", $what, " values along a dimension, which keeps its place with the size 1. See [`", stringify!($values), "`].")]
        #[inline]
        #[track_caller]
        pub fn $keepdim(x: &Tensor, dim: impl Into<Axis>) -> Tensor {
            let dim = dim.into();
            values(stringify!($values), x.raw(), dim, $smallest, true).or_raise().into()
        }

        #[doc = concat!("Returns the ", $what, " element; NaN if there is one. Equal elements share the gradient.")]
        ///
        /// # Panics
        /// If there are no elements.
        #[inline]
        #[track_caller]
        pub fn $all(x: &Tensor) -> Tensor {
            value_of_all(stringify!($all), x.raw(), $smallest).or_raise().into()
        }

        #[doc = concat!("Returns the indices of the ", $what, " values along a dimension, which is removed from the shape. Each index")]
        /// is that of the first of equal values, or of the first NaN if there is one.
        ///
        /// # Panics
        /// If there is no such dimension, or its size is 0.
        #[inline]
        #[track_caller]
        pub fn $indices(x: &Tensor, dim: impl Into<Axis>) -> Tensor {
            let dim = dim.into();
            indices(stringify!($indices), x.raw(), dim, $smallest).or_raise().into()
        }
    )*};
}
extremes! {
    max max_keepdim max_all argmax: "largest", false, "[3.0, 5.0]";
    min min_keepdim min_all argmin: "smallest", true, "[1.0, 4.0]";
}

/// Returns the largest or smallest element. As in PyTorch, equal elements get equal shares of the gradient.
fn value_of_all(caller: &str, x: &Raw, smallest: bool) -> Result<Raw> {
    let flat = x.detach().flatten_all()?;
    let value = values(caller, &flat, 0.into(), smallest, false)?;
    if !x.dtype().is_float() || !are_tracked(&[x]) {
        return Ok(value);
    }
    if has_kernel(&[x]) {
        return dispatch_dtype!(x, shared_on_cpu(x, &value));
    }
    let flat = x.flatten_all()?;
    // The mask of the elements that are equal to the value, or NaN as the value.
    let nan = value.to_dtype(DType::F64)?.to_scalar::<f64>()?.is_nan();
    let other = if nan { &flat } else { &value };
    let at = compare(
        if nan { CmpOp::Ne } else { CmpOp::Eq },
        &flat.detach(),
        &other.detach(),
    )?;
    let count = sum_as(&caller, &at, &[0], false)?.to_scalar::<i64>()?;
    let zero = Raw::zeros((), flat.dtype(), flat.device())?;
    let sum = sum_as(
        &caller,
        &chosen(&at, &flat, &zero, flat.dims())?,
        &[0],
        false,
    )?;
    arithmetic_number(Arithmetic::Div, &sum, count.into(), false)
}

fn values(caller: &str, x: &Raw, dim: Axis, smallest: bool, keepdim: bool) -> Result<Raw> {
    if x.rank() == 0 {
        return values(caller, &x.unsqueeze(0)?, dim, smallest, false);
    }
    let lines = Lines::of(caller, x, dim)?;
    let found = values_of(x, &lines, smallest)?;
    match keepdim {
        true => found.unsqueeze(lines.dim),
        false => Ok(found),
    }
}

fn values_of(x: &Raw, lines: &Lines, smallest: bool) -> Result<Raw> {
    if x.elem_count() == 0 {
        return Raw::zeros(&lines.shape[..], x.dtype(), x.device());
    }
    run(
        &[x],
        |x| dispatch_dtype!(x[0], values_on_cpu(x[0], lines, smallest)),
        |x| values_with_candle(x[0], lines.dim, smallest),
    )
}

/// Selects the values by their indices: the gradient of Candle's own `max` goes to all of the equal values.
fn values_with_candle(x: &Raw, dim: usize, smallest: bool) -> Result<Raw> {
    match (x.dtype().is_float(), smallest) {
        (true, _) => {
            let places = indices_with_candle(x, dim, smallest)?.unsqueeze(dim)?;
            x.contiguous()?.gather(&places, dim)?.squeeze(dim)
        }
        (false, true) => x.min(dim),
        (false, false) => x.max(dim),
    }
}

fn indices(caller: &str, x: &Raw, dim: Axis, smallest: bool) -> Result<Raw> {
    if x.rank() == 0 {
        return indices(caller, &x.unsqueeze(0)?, dim, smallest);
    }
    let lines = Lines::of(caller, x, dim)?;
    if x.elem_count() == 0 {
        return Raw::zeros(&lines.shape[..], DType::U32, x.device());
    }
    if check::is_half(x) {
        return indices(caller, &x.to_dtype(DType::F32)?, dim, smallest);
    }
    match has_kernel(&[x]) {
        true => dispatch_dtype!(x, indices_on_cpu(x, &lines, smallest)),
        false => indices_with_candle(x, lines.dim, smallest),
    }
}

fn indices_with_candle(x: &Raw, dim: usize, smallest: bool) -> Result<Raw> {
    match smallest {
        true => x.argmin(dim),
        false => x.argmax(dim),
    }
}

fn values_on_cpu<T: Element>(x: &Raw, lines: &Lines, smallest: bool) -> Result<Raw> {
    let input = in_order(x)?;
    let values = read([&input], |[x]| lines.extremes::<T>(x, smallest))?;
    let needs = Needs {
        output: true,
        reads: [true; 3],
        ..Needs::default()
    };
    record(&[x], values, &lines.shape[..], || {
        let (x, lines) = (input.detach(), lines.clone());
        let (same, again) = (x.clone(), lines.clone());
        kernel(
            needs,
            move |upstream| lines.gradient::<T>(&x, upstream),
            move |upstream| again.recorded::<T>(&same, upstream),
        )
    })
}

fn indices_on_cpu<T: Element>(x: &Raw, lines: &Lines, smallest: bool) -> Result<Raw> {
    let places = read([x], |[x]| {
        lines.places(x, &lines.extremes::<T>(x, smallest))
    })?;
    Raw::from_vec(places, &lines.shape[..], &Device::Cpu)
}

/// The division of a tensor into lines along a dimension, each of which becomes one value. The tensor
/// consists of parts of `rows` (the size of the dimension) times `columns` elements, and a line is a
/// column of a part.
#[derive(Clone)]
struct Lines {
    dim: usize,
    rows: usize,
    columns: usize,
    /// The shape without the dimension.
    shape: Vec<usize>,
}

impl Lines {
    fn of(caller: &str, x: &Raw, dim: Axis) -> Result<Self> {
        let dim = dim.of(&caller, x)?;
        let mut shape = x.dims().to_vec();
        let rows = shape.remove(dim);
        if rows == 0 {
            let expected = format!("Expected at least one value along dimension {dim}");
            return Err(check::wrong_shape(&caller, x, expected));
        }
        let columns = shape[dim..].iter().product();
        Ok(Lines {
            dim,
            rows,
            columns,
            shape,
        })
    }

    /// Returns the largest or the smallest value of each line.
    fn extremes<T: Element>(&self, values: &[T], smallest: bool) -> Vec<T> {
        let &Lines { rows, columns, .. } = self;
        if columns != 1 {
            let block =
                |_, _, block: &[T], width| extremes_of_columns(block, columns, width, smallest);
            return self.map_columns(values, block, |a, b| pick(a, b, smallest));
        }
        // A single line is first divided into one line for each task.
        let row = if values.len() == rows {
            rows.min(TASK)
        } else {
            rows
        };
        let (count, chunk) = (values.len().div_ceil(row), (TASK / row).max(1));
        let found = write::by_chunks(count, chunk, |first, found| {
            extremes_of_rows(&values[first * row..], row, smallest, found)
        });
        match row == rows {
            true => found,
            false => {
                let rows = found.len();
                Lines {
                    rows,
                    ..self.clone()
                }
                .extremes(&found, smallest)
            }
        }
    }

    /// Returns for each line the index of the first element that is NaN or equal to the line's value in
    /// `extremes`.
    fn places<T: Element>(&self, values: &[T], extremes: &[T]) -> Vec<u32> {
        let &Lines { rows, columns, .. } = self;
        if columns != 1 {
            let block = |line: usize, row, block: &[T], width| {
                places_in_columns(block, columns, row, &extremes[line..line + width])
            };
            return self.map_columns(values, block, u32::min);
        }
        let lines_per_task = (TASK / rows).max(1);
        let lines: Vec<(&[T], &[T])> = values
            .chunks(lines_per_task * rows)
            .zip(extremes.chunks(lines_per_task))
            .collect();
        map_tasks(lines.len(), |i| places_in_rows(lines[i].0, lines[i].1)).concat()
    }

    /// Returns a result for each line. The lines are computed in blocks of rows and columns: `work` gets
    /// the index of the block's first line, its first row, the elements from its first to its last, and
    /// its width, and returns a result for each of its columns. `join` joins the results of blocks of the
    /// same lines.
    fn map_columns<T: Element, R: Copy + Send>(
        &self,
        values: &[T],
        work: impl Fn(usize, usize, &[T], usize) -> Vec<R> + Sync,
        join: impl Fn(R, R) -> R,
    ) -> Vec<R> {
        let &Lines { rows, columns, .. } = self;
        let (blocks, height) = (columns.div_ceil(WIDTH), (TASK / columns.min(WIDTH)).max(1));
        let groups = rows.div_ceil(height);
        let found = map_tasks(values.len() / (rows * columns) * blocks * groups, |task| {
            let (part, block) = (task / groups / blocks, task / groups % blocks);
            let (row, column) = (task % groups * height, block * WIDTH);
            let width = WIDTH.min(columns - column);
            let start = part * rows * columns + column;
            let end = start + (rows.min(row + height) - 1) * columns + width;
            work(
                part * columns + column,
                row,
                &values[start + row * columns..end],
                width,
            )
        });
        let joined = found.chunks(groups).map(|groups| {
            let mut joined = groups[0].clone();
            for group in &groups[1..] {
                for (a, b) in joined.iter_mut().zip(group) {
                    *a = join(*a, *b);
                }
            }
            joined
        });
        joined.collect::<Vec<_>>().concat()
    }
}

/// Records that the elements share the gradient of a value which is the extreme of all.
fn shared_on_cpu<T: Element>(x: &Raw, value: &Raw) -> Result<Raw> {
    let value = value.to_scalar::<T>()?;
    let saved = in_order(x)?;
    let needs = Needs {
        reads: [true; 3],
        ..Needs::default()
    };
    let same = saved.clone();
    let backward = move |upstream: &Upstream<'_>| {
        let gradient = upstream.gradient.to_scalar::<T>()?;
        let of_x = read([&same], |[x]| {
            let counts = map_chunks(x, CHUNK, |x| count(x, value));
            let share = gradient / T::of(counts.iter().sum::<usize>() as f64);
            write::by_chunks(x.len(), CHUNK, |first, out| {
                distribute(&x[first..], value, share, out)
            })
        })?;
        of_first(of_x, same.shape())
    };
    let recorded = move |upstream: &Upstream<'_>| {
        let (x, value) = (Tensor::from(saved.clone()), value.to_f64());
        let at = match value.is_nan() {
            true => x.ne(&x),
            false => x.eq(value),
        };
        let share = at.to_dtype(x.dtype()) * (1.0 / at.sum_all().item());
        Ok([Some((upstream.g() * share).into()), None, None])
    };
    record(&[x], vec![value], (), || kernel(needs, backward, recorded))
}

impl Lines {
    /// Returns the indices of the values, which are the output.
    fn places_of<T: Element>(&self, x: &Raw, upstream: &Upstream<'_>) -> Result<Vec<u32>> {
        let y = upstream.output()?.raw();
        read([x, y], |[x, y]| self.places::<T>(x, y))
    }

    fn gradient<T: Element>(&self, x: &Raw, upstream: &Upstream<'_>) -> Result<Downstream> {
        let &Lines { rows, columns, .. } = self;
        let places = self.places_of::<T>(x, upstream)?;
        // A row is a line with a single gradient, or consists of an element of each line of a part.
        let row = if columns == 1 { rows } else { columns };
        let (count, chunk) = (x.elem_count(), whole_rows(CHUNK, row));
        let of_x = read([upstream.gradient], |[g]: [&[T]; 1]| {
            write::by_chunks(count, chunk, |first, out| {
                let range = first / row..(first + out.len()) / row;
                let mut parts = Parts::new(out);
                for i in range {
                    let out = parts.next(row);
                    parts.push(if columns == 1 {
                        let out = write::fill(out, T::ZERO);
                        out[places[i] as usize] = g[i];
                        out
                    } else {
                        let (start, i) = (i / rows * columns, i % rows);
                        let lines = g[start..].iter().zip(&places[start..]);
                        let value = |(g, place): (&T, &u32)| {
                            if *place as usize == i { *g } else { T::ZERO }
                        };
                        write::each(out, lines.map(value))
                    });
                }
                parts.finish()
            })
        })?;
        of_first(of_x, x.shape())
    }

    fn recorded<T: Element>(&self, x: &Raw, upstream: &Upstream<'_>) -> Result<Downstream> {
        let &Lines { rows, columns, .. } = self;
        let places = self.places_of::<T>(x, upstream)?;
        let place = |(line, place): (usize, &u32)| {
            ((line / columns * rows + *place as usize) * columns + line % columns) as i64
        };
        let positions = places.iter().enumerate().map(place).collect();
        let places = IndexedCopy::at(positions, x.dims(), &self.shape)?;
        Ok([Some(places.add(upstream.gradient)?), None, None])
    }
}

#[cfg(test)]
mod tests;
