//! Sums and means along a dimension; the largest and smallest values.

mod extremes;

pub use extremes::{argmax, argmin, max, min};

use super::check;
use super::engine::autograd::{Backward, Downstream, Upstream, has_kernel, record};
use super::engine::simd::{Element, multiversion};
use super::engine::strided::in_order;
use super::engine::sums::{column_sums, column_sums_in_task, sum as sum_row, total};
use super::engine::threads::map_tasks;
use super::engine::{CpuView, dispatch_dtype, vec_by_chunks, whole_rows};
use candle_core::shape::Dim;
use candle_core::{Result, Tensor};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The elements that one task writes.
const CHUNK: usize = 1 << 14;
/// The elements that one task reads.
const TASK: usize = 1 << 15;

/// Returns the sums along a dimension, which is removed from the shape. Computes on all cores: many times
/// as fast as Candle's `x.sum(dim)` where the dimension is not the last.
///
/// Sums of many values keep their digits, because the values are added in pairs. See [`mean`] for the
/// means.
///
/// # Errors
/// If there is no such dimension.
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[1.0, 2.0], [3.0, 4.0]], &cpu())?; // (2, 2)
/// assert_eq!(sum(&x, 0)?.to_vec1::<f32>()?, [4.0, 6.0]);
/// assert_eq!(sum(&x, D::Minus1)?.to_vec1::<f32>()?, [3.0, 7.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn sum(x: &Tensor, dim: impl Dim) -> Result<Tensor> {
    let dim = check::dimension(&"sum", x, dim)?;
    if check::is_half(x) {
        return check::in_single([x], |[x]| sum(&x, dim));
    }
    match has_kernel(&[x]) && x.elem_count() > 0 {
        true => dispatch_dtype!(x, forward(x, dim)),
        false => x.sum(dim),
    }
}

/// Returns the means along a dimension, which is removed from the shape.
///
/// # Errors
/// If there is no such dimension, or `x` is a tensor of integers.
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[1.0, 2.0], [3.0, 4.0]], &cpu())?; // (2, 2)
/// assert_eq!(mean(&x, 0)?.to_vec1::<f32>()?, [2.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn mean(x: &Tensor, dim: impl Dim) -> Result<Tensor> {
    check::floating(&"mean", x)?;
    let dim = check::dimension(&"mean", x, dim)?;
    sum(x, dim)? / x.dim(dim)? as f64
}

fn forward<T: Element>(x: &Tensor, dim: usize) -> Result<Tensor> {
    let input = in_order(x)?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    let (before, after) = (&x.dims()[..dim], &x.dims()[dim + 1..]);
    let (rows, columns) = (x.dims()[dim], after.iter().product());
    let parts = values.len() / (rows * columns);
    let sums = match (parts, columns) {
        (1, 1) => vec![total(values)],
        (1, _) => column_sums(values, columns),
        // SAFETY: `sums_of_rows` initialises the sum of each of its rows.
        (_, 1) => unsafe {
            vec_by_chunks(parts, (TASK / rows).max(1), |first, sums| {
                sums_of_rows(&values[first * rows..], rows, sums);
            })
        },
        _ => {
            let chunks = values.chunks(rows * columns).collect::<Vec<_>>();
            map_tasks(parts, |i| column_sums_in_task(chunks[i], columns)).concat()
        }
    };
    let shape = [before, after].concat();
    drop(view);
    record(&[x], sums, shape, || Back::<T> {
        shape: x.dims().to_vec(),
        dim,
        element: PhantomData,
    })
}

multiversion! {
    fn sums_of_rows<T: Element>(values: &[T], row: usize, sums: &mut [MaybeUninit<T>]) {
        for (sum, row) in sums.iter_mut().zip(values.chunks_exact(row)) {
            sum.write(sum_row(row));
        }
    }
}

struct Back<T> {
    shape: Vec<usize>,
    dim: usize,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn backward(&self, Upstream { gradient, .. }: Upstream<'_>) -> Result<Downstream> {
        let view = CpuView::of(gradient)?;
        let g = view.as_slice::<T>()?;
        let columns: usize = self.shape[self.dim + 1..].iter().product();
        let rows = self.shape[self.dim];
        // A line consists of equal values, or of one row of all columns.
        let line = if columns == 1 { rows } else { columns };
        let count: usize = self.shape.iter().product();
        // SAFETY: chunks are whole lines, and the loop initialises each line.
        let of_x = unsafe {
            vec_by_chunks(count, whole_rows(CHUNK, line), |first, out| {
                for (i, out) in out.chunks_exact_mut(line).enumerate() {
                    let line = first / line + i;
                    if columns == 1 {
                        out.fill(MaybeUninit::new(g[line]));
                    } else {
                        out.write_copy_of_slice(&g[line / rows * columns..][..columns]);
                    }
                }
            })
        };
        let of_x = Tensor::from_vec(of_x, &self.shape[..], gradient.device())?;
        Ok([Some(of_x), None, None])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::{randn, tensor};
    use candle_core::{D, DType, Device};

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("sum", 60, |case| {
            let shape: Vec<usize> = (0..3).map(|_| case.one_of(&[1, 2, 7, 40, 300])).collect();
            let dim = case.between(0, 2);
            let inputs = vec![case.input(randn(shape, &Device::Cpu).and_then(|x| x.abs()))];
            let kernel = move |x: &[Tensor]| sum(&x[0], dim);
            let candle = move |x: &[Tensor]| x[0].sum(dim);
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }

    #[test]
    fn integers_have_sums_but_no_means() {
        let x = tensor(&[1, 2], &Device::Cpu).unwrap();
        assert_eq!(sum(&x, 0).unwrap().to_scalar::<i64>().unwrap(), 3);
        assert!(mean(&x, 0).is_err());
        assert_eq!(
            sum(&x, 1).unwrap_err().to_string(),
            "sum cannot take an input of shape [2]\nIts dimensions are 0 to 0"
        );
        let half = Tensor::ones(4000, DType::BF16, &Device::Cpu).unwrap();
        let mean = mean(&half, D::Minus1).unwrap().to_dtype(DType::F32);
        assert_eq!(mean.unwrap().to_scalar::<f32>().unwrap(), 1.0);
    }
}
