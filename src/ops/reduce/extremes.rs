//! The largest and smallest values along a dimension, and their indices.

mod kernels;

use super::{CHUNK, TASK};
use crate::ops::check;
use crate::ops::engine::autograd::{Backward, Downstream, Upstream, has_kernel, record};
use crate::ops::engine::simd::Element;
use crate::ops::engine::strided::in_order;
use crate::ops::engine::threads::map_tasks;
use crate::ops::engine::{CpuView, dispatch_dtype, vec_by_chunks, whole_rows};
use candle_core::shape::Dim;
use candle_core::{DType, Device, Result, Tensor};
use kernels::{extremes_of_columns, extremes_of_rows, pick, places_in_columns, places_in_rows};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The largest number of columns of one task.
const WIDTH: usize = 512;

/// Returns the largest values along a dimension, which is removed from the shape; NaN if one of the
/// values is NaN. [`argmax`] returns their indices.
///
/// The gradient goes to the first of equal values, as in PyTorch's `x.max(dim).values`.
///
/// # Errors
/// If there is no such dimension, or its size is 0.
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[1.0, 5.0], [3.0, 4.0]], &cpu())?; // (2, 2)
/// assert_eq!(max(&x, 0)?.to_vec1::<f32>()?, [3.0, 5.0]);
/// assert_eq!(max(&x, D::Minus1)?.to_vec1::<f32>()?, [5.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn max(x: &Tensor, dim: impl Dim) -> Result<Tensor> {
    values("max", x, dim, false)
}

/// Returns the smallest values along a dimension, which is removed from the shape; NaN if one of the
/// values is NaN. See [`max`] for the gradient.
///
/// # Errors
/// As for [`max`].
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[1.0, 5.0], [3.0, 4.0]], &cpu())?; // (2, 2)
/// assert_eq!(min(&x, 0)?.to_vec1::<f32>()?, [1.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn min(x: &Tensor, dim: impl Dim) -> Result<Tensor> {
    values("min", x, dim, true)
}

/// Returns the indices of the largest values along a dimension, which is removed from the shape. Each index
/// is that of the first of equal values, or of the first NaN if there is one.
///
/// # Errors
/// As for [`max`].
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[1.0, 5.0], [3.0, 4.0]], &cpu())?; // (2, 2)
/// assert_eq!(argmax(&x, 0)?.to_vec1::<u32>()?, [1, 0]);
/// # Ok::<(), Error>(())
/// ```
pub fn argmax(x: &Tensor, dim: impl Dim) -> Result<Tensor> {
    indices("argmax", x, dim, false)
}

/// Returns the indices of the smallest values along a dimension, which is removed from the shape. Each
/// index is that of the first of equal values, or of the first NaN if there is one.
///
/// # Errors
/// As for [`max`].
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[1.0, 5.0], [3.0, 4.0]], &cpu())?; // (2, 2)
/// assert_eq!(argmin(&x, 1)?.to_vec1::<u32>()?, [0, 0]);
/// # Ok::<(), Error>(())
/// ```
pub fn argmin(x: &Tensor, dim: impl Dim) -> Result<Tensor> {
    indices("argmin", x, dim, true)
}

fn values(caller: &str, x: &Tensor, dim: impl Dim, smallest: bool) -> Result<Tensor> {
    let lines = Lines::of(caller, x, dim)?;
    if x.elem_count() == 0 {
        return Tensor::zeros(&lines.shape[..], x.dtype(), x.device());
    }
    if check::is_half(x) {
        return check::in_single([x], |[x]| values(caller, &x, lines.dim, smallest));
    }
    match has_kernel(&[x]) {
        true => dispatch_dtype!(x, values_on_cpu(x, &lines, smallest)),
        false => values_with_candle(x, lines.dim, smallest),
    }
}

/// Selects the values by their indices: the gradient of Candle's own `max` goes to all of the equal values.
fn values_with_candle(x: &Tensor, dim: usize, smallest: bool) -> Result<Tensor> {
    match (x.dtype().is_float(), smallest) {
        (true, _) => {
            let places = indices_with_candle(x, dim, smallest)?.unsqueeze(dim)?;
            x.contiguous()?.gather(&places, dim)?.squeeze(dim)
        }
        (false, true) => x.min(dim),
        (false, false) => x.max(dim),
    }
}

fn indices(caller: &str, x: &Tensor, dim: impl Dim, smallest: bool) -> Result<Tensor> {
    let lines = Lines::of(caller, x, dim)?;
    if x.elem_count() == 0 {
        return Tensor::zeros(&lines.shape[..], DType::U32, x.device());
    }
    if check::is_half(x) {
        return indices(caller, &x.to_dtype(DType::F32)?, lines.dim, smallest);
    }
    match has_kernel(&[x]) {
        true => dispatch_dtype!(x, indices_on_cpu(x, &lines, smallest)),
        false => indices_with_candle(x, lines.dim, smallest),
    }
}

fn indices_with_candle(x: &Tensor, dim: usize, smallest: bool) -> Result<Tensor> {
    match smallest {
        true => x.argmin(dim),
        false => x.argmax(dim),
    }
}

fn values_on_cpu<T: Element>(x: &Tensor, lines: &Lines, smallest: bool) -> Result<Tensor> {
    let input = in_order(x)?;
    let view = CpuView::of(&input)?;
    let values = lines.extremes(view.as_slice::<T>()?, smallest);
    drop(view);
    record(&[x], values, &lines.shape[..], || Back::<T> {
        x: input.detach(),
        lines: lines.clone(),
        element: PhantomData,
    })
}

fn indices_on_cpu<T: Element>(x: &Tensor, lines: &Lines, smallest: bool) -> Result<Tensor> {
    let input = in_order(x)?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    let places = lines.places(values, &lines.extremes(values, smallest));
    Tensor::from_vec(places, &lines.shape[..], &Device::Cpu)
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
    fn of(caller: &str, x: &Tensor, dim: impl Dim) -> Result<Self> {
        let dim = check::dimension(&caller, x, dim)?;
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
        // SAFETY: `extremes_of_rows` initialises the value of each of its rows.
        let found = unsafe {
            vec_by_chunks(
                values.len().div_ceil(row),
                (TASK / row).max(1),
                |first, found| {
                    extremes_of_rows(&values[first * row..], row, smallest, found);
                },
            )
        };
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

struct Back<T> {
    x: Tensor,
    lines: Lines,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn needs_output(&self) -> bool {
        true
    }

    fn backward(&self, upstream: Upstream<'_>) -> Result<Downstream> {
        let (gradient, output) = (upstream.gradient, upstream.output()?);
        let &Lines { rows, columns, .. } = &self.lines;
        let (g, x, y) = (
            CpuView::of(gradient)?,
            CpuView::of(&self.x)?,
            CpuView::of(output)?,
        );
        let g = g.as_slice::<T>()?;
        let places = self.lines.places(x.as_slice::<T>()?, y.as_slice::<T>()?);
        // A row is a line with a single gradient, or consists of an element of each line of a part.
        let row = if columns == 1 { rows } else { columns };
        // SAFETY: chunks are whole rows, and the loop initialises each row.
        let of_x = unsafe {
            vec_by_chunks(self.x.elem_count(), whole_rows(CHUNK, row), |first, out| {
                for (i, out) in out.chunks_exact_mut(row).enumerate() {
                    let i = first / row + i;
                    if columns == 1 {
                        out.fill(MaybeUninit::new(T::ZERO));
                        out[places[i] as usize].write(g[i]);
                    } else {
                        let (start, i) = (i / rows * columns, i % rows);
                        let lines = g[start..].iter().zip(&places[start..]);
                        for (out, (g, place)) in out.iter_mut().zip(lines) {
                            out.write(if *place as usize == i { *g } else { T::ZERO });
                        }
                    }
                }
            })
        };
        let of_x = Tensor::from_vec(of_x, self.x.shape(), gradient.device())?;
        Ok([Some(of_x), None, None])
    }
}

#[cfg(test)]
mod tests;
