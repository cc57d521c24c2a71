//! Embedding: a row of a table for each token.

use super::check;
use super::engine::autograd::{IndexedCopy, can_move};
use super::lookup::{check_indices, or_nan, positions};
use crate::error::refuse;
use crate::tensor::{Raw, Tensor};
use candle_core::{DType, Result};
use std::fmt::Display;

functions! {
    /// Returns the rows of a table for token indices.
    ///
    /// # Shapes
    /// `tokens` is `(…)`, `weight` is `(tokens, length)`; the output is `(…, length)`.
    ///
    /// # Panics
    /// If the indices are not integers, are on another device, or are out of range. On a GPU, an index
    /// out of range does not panic: its row of the result is filled with NaN.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = tensor(&[[0.0, 0.1], [1.0, 1.1], [2.0, 2.1]]); // (3, 2)
    /// let rows = embedding(&tensor(&[2_i64, 0]), &table); // (2, 2)
    /// assert_eq!(rows.to_vec2::<f32>(), [[2.0, 2.1], [0.0, 0.1]]);
    /// ```
    pub fn embedding(tokens: &Tensor, weight: &Tensor) => embedding_as(&"embedding", tokens.raw(), weight.raw());
}

/// Computes [`embedding`]; errors begin with the name of the caller.
#[doc(hidden)]
pub fn embedding_as(caller: &dyn Display, tokens: &Raw, weight: &Raw) -> Result<Raw> {
    refuse!(if !matches!(tokens.dtype(), DType::I64 | DType::U32 | DType::U8);
        ("{caller} takes token indices, but its input is {}", tokens.dtype().as_str());
        "Convert the input: x.to_dtype(DType::I64)");
    check::same_device(caller, tokens, weight)?;
    let &[count, length] = weight.dims() else {
        let expected = "Expected a weight (tokens, length)";
        return Err(check::wrong_weight(caller, weight, expected));
    };
    let remedy = "create the embedding for more tokens";
    check_indices(caller, "token", tokens, count, remedy)?;
    let mut shape = tokens.dims().to_vec();
    shape.push(length);
    check::output(caller, &shape, weight)?;
    let indices = tokens.flatten_all()?;
    if can_move(weight) {
        let rows = IndexedCopy::of_parts(positions(&indices)?, weight.dims(), 0);
        return rows.shaped(shape).take(weight, || Ok(()));
    }
    let rows = match indices.device().is_cpu() {
        true => weight.index_select(&indices, 0)?,
        false => or_nan(&indices, count, |indices| rows_in_groups(weight, indices))?,
    };
    rows.reshape(shape)
}

/// The largest number of elements that the copies of a table may have together: 64 MiB of `f32`.
const LARGEST: usize = 1 << 24;

/// Returns the rows of a table `(count, length)` for indices in range, `(indices, length)`.
///
/// On a GPU, the gradient of `index_select` runs on only `length` threads, each of which goes through all
/// indices. So the indices are divided into groups, each with a copy of the table: every group has `length`
/// threads of its own, which go through that group only. The order of the additions is fixed, so the result
/// is the same in each run.
fn rows_in_groups(weight: &Raw, indices: &Raw) -> Result<Raw> {
    let ((count, length), total) = (weight.dims2()?, indices.elem_count());
    let groups = groups(total, weight.elem_count());
    if groups == 1 || !weight.track_op() {
        return weight.index_select(indices, 0);
    }
    let each = total.div_ceil(groups);
    // The last group is padded with zeros, whose rows are cut off below.
    let indices = indices.pad_with_zeros(0, 0, each * groups - total)?;
    let indices = indices.reshape((groups, each, 1))?;
    let indices = indices.broadcast_as((groups, each, length))?.contiguous()?;
    let tables = weight.broadcast_as((groups, count, length))?.contiguous()?;
    let rows = tables.gather(&indices, 1)?; // (groups, each, length)
    rows.reshape((groups * each, length))?.narrow(0, 0, total)
}

/// Returns the number of groups into which to divide the indices: at most the square root of their number.
/// This balances the time for the indices of a group with the time for the sum of the copies' gradients.
fn groups(indices: usize, table: usize) -> usize {
    let largest = LARGEST / table.max(1);
    indices.isqrt().min(largest).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{compare, variable};
    use crate::tensor::{rand, randint, with_seed};

    #[test]
    fn groups_have_the_rows_and_gradients_of_a_single_selection() {
        for (count, length, total) in [(7, 3, 50), (5, 1, 4), (3, 2, 1), (40, 8, 301)] {
            let (table, indices) = with_seed(total as u64, || {
                let table = rand((count, length));
                (table, randint(0, count as i64, total))
            });
            let indices = Raw::from(indices.to_dtype(DType::U32));
            let scale = rand((total, length));
            let run = |look_up: &dyn Fn(&Raw) -> Result<Raw>| {
                let table = variable(&table);
                let rows = Tensor::from(look_up(table.raw()).unwrap());
                let gradient = (&rows * &scale).sum_all().backward().of(&table);
                (rows.to_vec2::<f32>(), gradient.to_vec2::<f32>())
            };
            let (rows, gradient) = run(&|table| rows_in_groups(table, &indices));
            let (same_rows, same_gradient) = run(&|table| table.index_select(&indices, 0));
            assert_eq!(rows, same_rows);
            for (a, b) in gradient.concat().iter().zip(same_gradient.concat()) {
                assert!((a - b).abs() < 1e-4, "{a} {b}");
            }
        }
    }

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("embedding", 30, |case| {
            let (count, length) = (case.between(1, 90), case.between(1, 70));
            let total = case.between(1, 300);
            let indices = Raw::from(randint(0, count as i64, total));
            let inputs = vec![case.input(rand((count, length)))];
            let of_candle = indices.clone();
            let kernel = move |x: &[Raw]| embedding_as(&"", &indices, &x[0]);
            let candle = move |x: &[Raw]| x[0].contiguous()?.index_select(&of_candle, 0);
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }

    #[test]
    fn a_large_table_is_not_copied() {
        assert_eq!(groups(4096, 1000), 64);
        assert_eq!(groups(4096, LARGEST / 8), 8);
        assert_eq!(groups(4096, LARGEST + 1), 1);
        assert_eq!(groups(0, 10), 1);
    }
}
