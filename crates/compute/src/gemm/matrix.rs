//! The matrices of a product, and the memory for its rows.

use crate::shared_slice::SharedSlice;
use crate::simd::{Float, multiversion};
use std::mem::MaybeUninit;

/// A strided matrix: its elements are `values[row * row_step + column * column_step]`.
#[derive(Clone, Copy)]
pub struct Matrix<'a, T> {
    /// The elements.
    pub values: &'a [T],
    /// The distance from one row to the next.
    pub row_step: usize,
    /// The distance from one column to the next.
    pub column_step: usize,
}

impl<'a, T: Float> Matrix<'a, T> {
    /// Returns the matrix whose rows of `columns` elements follow each other.
    pub fn of_rows(values: &'a [T], columns: usize) -> Self {
        Matrix {
            values,
            row_step: columns,
            column_step: 1,
        }
    }

    /// Returns the transposed matrix.
    pub fn transposed(self) -> Self {
        Matrix {
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }

    /// Checks that the elements of this many rows and columns are within the values.
    ///
    /// # Panics
    /// If they are not.
    pub(super) fn check(&self, rows: usize, columns: usize) {
        if rows > 0 && columns > 0 {
            let last_row = (rows - 1).checked_mul(self.row_step);
            let last_column = (columns - 1).checked_mul(self.column_step);
            let last = last_row.and_then(|row| row.checked_add(last_column?));
            assert!(
                last.is_some_and(|last| last < self.values.len()),
                "a matrix ends outside its values"
            );
        }
    }
}

/// Returns the number of elements of matrices.
///
/// # Panics
/// If it does not fit into a `usize`.
pub(super) fn elements(rows: usize, columns: usize) -> usize {
    rows.checked_mul(columns)
        .expect("the elements of a product fit into the memory")
}

/// The memory for the rows of a product.
pub(super) struct Rows<'a, T> {
    pub(super) out: SharedSlice<'a, MaybeUninit<T>>,
    /// The distance from one row to the next.
    pub(super) pitch: usize,
    /// Whether the rows are added to the present values of `out`.
    pub(super) add: bool,
}

impl<'a, T> Rows<'a, T> {
    /// Returns the rows that fill `out`, one after the other.
    pub(super) fn new(out: SharedSlice<'a, MaybeUninit<T>>, pitch: usize) -> Self {
        let add = false;
        Rows { out, pitch, add }
    }
}

/// A function that calls the given work with each index below a count: on all cores, or in turn within a task.
pub(super) type Tasks<'a> = &'a dyn Fn(usize, &(dyn Fn(usize) + Sync));

multiversion! {
    pub(super) fn store<T: Float>(sums: &[T], bias: Option<&[T]>, out: &mut [MaybeUninit<T>]) {
        match bias {
            None => {
                for (out, sum) in out.iter_mut().zip(sums) {
                    out.write(*sum);
                }
            }
            Some(bias) => {
                for ((out, sum), bias) in out.iter_mut().zip(sums).zip(bias) {
                    out.write(*sum + *bias);
                }
            }
        }
    }
}
