//! Products of few rows, such as an inference for one example.

use super::matrix::{Matrix, Rows, Tasks, store};
use crate::simd::{Float, multiversion};
use crate::sums::dot;

/// The most rows for which the right matrix is not packed: packing would take longer than the products.
pub(super) const FEW_ROWS: usize = 3;
/// The columns of a task of [`multiply_few`].
const FEW_COLUMNS: usize = 64;

/// Initialises the few rows of a product. The rows of `a` are contiguous, and the columns or the rows of `b`.
///
/// # Safety
/// No other task accesses these rows meanwhile.
pub(super) unsafe fn multiply_few<T: Float>(
    [rows, depth, columns]: [usize; 3],
    a: Matrix<T>,
    b: Matrix<T>,
    bias: Option<&[T]>,
    to: Rows<T>,
    tasks: Tasks,
) {
    tasks(columns.div_ceil(FEW_COLUMNS), &|task| {
        let first = task * FEW_COLUMNS;
        let width = FEW_COLUMNS.min(columns - first);
        for row in 0..rows {
            let a = &a.values[row * a.row_step..][..depth];
            let start = &b.values[first * b.column_step..];
            let mut sums = [T::ZERO; FEW_COLUMNS];
            match b.row_step {
                1 => dots(a, start, b.column_step, &mut sums[..width]),
                _ => add_multiples(a, start, b.row_step, width, &mut sums),
            }
            // SAFETY: each task has other columns than all others.
            let out = unsafe { to.out.part(row * to.pitch + first, width) };
            store(&sums, bias.map(|bias| &bias[first..][..width]), out);
        }
    });
}

multiversion! {
    /// Sets each sum to the dot product of `a` and a column; `step` is the distance from one column to the next.
    fn dots<T: Float>(a: &[T], columns: &[T], step: usize, sums: &mut [T]) {
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = dot(a, &columns[i * step..][..a.len()]);
        }
    }
}

multiversion! {
    /// Adds each row, multiplied by its element of `a`; `step` is the distance from one row to the next.
    fn add_multiples<T: Float>(a: &[T], rows: &[T], step: usize, width: usize, sums: &mut [T; FEW_COLUMNS]) {
        for (i, a) in a.iter().enumerate() {
            let row = &rows[i * step..][..width];
            match <&[T; FEW_COLUMNS]>::try_from(row) {
                Ok(row) => {
                    for j in 0..FEW_COLUMNS {
                        sums[j] += *a * row[j];
                    }
                }
                Err(_) => {
                    for (sum, value) in sums.iter_mut().zip(row) {
                        *sum += *a * *value;
                    }
                }
            }
        }
    }
}
