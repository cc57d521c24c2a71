//! Cumulative sums.

use super::CHUNK;
use crate::ops::check::too_large;
use crate::ops::dispatch::run;
use crate::ops::engine::autograd::recorded_linear;
use crate::ops::engine::read::read;
use crate::ops::engine::{Element, dispatch_dtype};
use crate::ops::tape::foreign;
use crate::tensor::{Axis, Raw, Tensor};
use candle_core::{DType, Result};
use std::mem::MaybeUninit;
use taper_compute::shared_slice::vec_filled_by;
use taper_compute::threads::for_each_task;

/// The largest number of columns of one task.
const WIDTH: usize = 256;

functions! {
    /// Returns for each element the sum of the elements up to it along a dimension. Integers are summed exactly,
    /// as `i64`.
    ///
    /// # Panics
    /// If there is no such dimension, or a sum of integers does not fit into 64 bits.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[1.0, 2.0, 3.0]); // (3,)
    /// assert_eq!(x.cumsum(0).to_vec1::<f32>(), [1.0, 3.0, 6.0]);
    /// ```
    pub fn cumsum(x: &Tensor, dim: impl Into<Axis>) => cumulative(x.raw(), dim.into());
}

fn cumulative(x: &Raw, dim: Axis) -> Result<Raw> {
    if x.rank() == 0 {
        return cumulative(&x.unsqueeze(0)?, dim)?.squeeze(0);
    }
    let dim = dim.of(&"cumsum", x)?;
    if x.dtype().is_int() {
        return of_integers(&x.to_dtype(DType::I64)?, dim);
    }
    if x.elem_count() == 0 {
        return Ok(x.clone());
    }
    run(
        &[x],
        |x| dispatch_dtype!(x[0], forward(x[0], dim, false)),
        |x| {
            let last = x[0].rank() - 1;
            let lines = x[0].transpose(dim, last)?.contiguous()?;
            foreign(&[&lines], &mut |x| x[0].cumsum(last))?.transpose(dim, last)
        },
    )
}

fn of_integers(x: &Raw, dim: usize) -> Result<Raw> {
    if !x.device().is_cpu() {
        return x.values().cumsum(dim).map(Raw::from);
    }
    let columns = x.dims()[dim + 1..].iter().product::<usize>();
    let mut sums: Vec<i64> = x.flatten_all()?.to_vec1()?;
    for part in sums.chunks_mut((x.dims()[dim] * columns).max(1)) {
        for i in columns..part.len() {
            let sum = part[i].checked_add(part[i - columns]);
            part[i] = sum.ok_or_else(|| too_large(&"cumsum"))?;
        }
    }
    Raw::from_vec(sums, x.shape(), x.device())
}

fn forward<T: Element>(x: &Raw, dim: usize, reversed: bool) -> Result<Raw> {
    let y = Raw::from_vec(sums::<T>(x, dim, reversed)?, x.shape(), x.device())?;
    Ok(recorded_linear(x, y, || {
        move |g: &Raw| forward::<T>(g, dim, !reversed)
    }))
}

/// Returns the cumulative sums along a dimension, from its end on if `reversed`. As in PyTorch they are added
/// in `f64`.
fn sums<T: Element>(x: &Raw, dim: usize, reversed: bool) -> Result<Vec<T>> {
    let (rows, columns) = (x.dims()[dim], x.dims()[dim + 1..].iter().product::<usize>());
    let (blocks, part) = (columns.div_ceil(WIDTH), rows * columns);
    // Small parts are computed together.
    let (tasks, together) = (x.elem_count() / part * blocks, (CHUNK / part).max(1));
    // SAFETY: each block of columns of each part belongs to one task, which initialises all of its rows.
    read([x], |[values]: [&[T]; 1]| unsafe {
        vec_filled_by(values.len(), |out| {
            for_each_task(tasks.div_ceil(together), |first| {
                for task in first * together..tasks.min((first + 1) * together) {
                    let column = task % blocks * WIDTH;
                    let width = WIDTH.min(columns - column);
                    let start = task / blocks * part + column;
                    if columns == 1 {
                        let line = values[start..start + rows]
                            .iter()
                            .zip(out.part(start, rows));
                        match reversed {
                            true => add_up(line.rev()),
                            false => add_up(line),
                        }
                        continue;
                    }
                    let mut sums = [0.0; WIDTH];
                    for i in 0..rows {
                        let row = if reversed { rows - 1 - i } else { i };
                        let start = start + row * columns;
                        let values = values[start..start + width].iter();
                        add_row(values.zip(out.part(start, width)), &mut sums);
                    }
                }
            });
        })
    })
}

/// Writes the cumulative sums of a line.
fn add_up<'a, T: Element>(line: impl Iterator<Item = (&'a T, &'a mut MaybeUninit<T>)>) {
    let mut sum = 0.0;
    for (x, out) in line {
        sum += x.to_f64();
        out.write(T::of(sum));
    }
}

/// Adds a row to the sums of the columns, and writes these.
fn add_row<'a, T: Element>(
    row: impl Iterator<Item = (&'a T, &'a mut MaybeUninit<T>)>,
    sums: &mut [f64],
) {
    for ((x, out), sum) in row.zip(sums) {
        *sum += x.to_f64();
        out.write(T::of(*sum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::ops::testing::{compare, variable};
    use crate::tensor::{rand, tensor};

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("cumsum", 30, |case| {
            let shape: Vec<usize> = (0..3).map(|_| case.one_of(&[1, 2, 7, 40, 300])).collect();
            if shape.iter().product::<usize>() > 1 << 18 {
                return None;
            }
            let dim = case.between(0, 2);
            let inputs = vec![case.input(rand(shape))];
            let kernel = move |x: &[Raw]| cumulative(&x[0], dim.into());
            let candle = move |x: &[Raw]| {
                let lines = x[0].transpose(dim, 2)?.contiguous()?;
                let sums = foreign(&[&lines], &mut |x| x[0].cumsum(2))?;
                sums.transpose(dim, 2)?.contiguous()
            };
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }

    #[test]
    fn infinity_nan_and_long_dimensions() {
        let x = variable(&tensor(&[1.0, f64::INFINITY, 2.0]));
        let y = cumsum(&x, 0);
        assert_eq!(y.to_vec1::<f32>(), [1.0, f32::INFINITY, f32::INFINITY]);
        let gradient = y.sum_all().backward().of(&x);
        assert_eq!(gradient.to_vec1::<f32>(), [3.0, 2.0, 1.0]);
        let x = rand(1_000_000);
        let (last, sum) = (cumsum(&x, 0).i(-1).item(), x.sum_all().item());
        assert!((last - sum).abs() < 1.0);
        let x = tensor(&[[1, 2], [4, i64::MAX - 3]]);
        assert_eq!(cumsum(&x, 0).to_vec2::<i64>()[1], [5, i64::MAX - 1]);
        assert!(attempt(|| cumsum(&x, 1)).is_err());
        assert_eq!(cumsum(&x.gt(1), 1).to_vec2::<i64>(), [[0, 1], [1, 2]]);
    }
}
