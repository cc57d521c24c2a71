//! Embedding: a row of a table for each token.

use super::check;
use super::lookup::{check_indices, or_nan};
use crate::error::explain;
use candle_core::{DType, Result, Tensor};
use std::fmt::Display;

/// Returns the rows of `weight` `(tokens, length)` for token indices `(…)`: `(…, length)`.
///
/// # Errors
/// If the indices are not integers, are on another device, or are out of range. On a GPU, an index
/// out of range is not an error: its row of the result is filled with NaN.
pub(crate) fn embedding(caller: &dyn Display, tokens: &Tensor, weight: &Tensor) -> Result<Tensor> {
    if !matches!(tokens.dtype(), DType::I64 | DType::U32 | DType::U8) {
        return Err(explain(
            format!(
                "{caller} takes token indices, but its input is {}",
                tokens.dtype().as_str()
            ),
            "Convert the input: x.to_dtype(DType::I64)?",
        ));
    }
    check::same_device(caller, tokens, weight)?;
    let &[count, length] = weight.dims() else {
        let expected = "Expected a weight (tokens, length)";
        return Err(check::wrong_shape(caller, weight, expected));
    };
    let remedy = "create the embedding for more tokens";
    check_indices(caller, "token", tokens, count, remedy)?;
    let mut shape = tokens.dims().to_vec();
    shape.push(length);
    let indices = tokens.flatten_all()?;
    let rows = match indices.device().is_cpu() {
        true => weight.index_select(&indices, 0)?,
        false => or_nan(&indices, count, |indices| weight.index_select(indices, 0))?,
    };
    rows.reshape(shape)
}
