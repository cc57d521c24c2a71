//! Choices: elements by a mask, by indices, in reverse order.

mod choose;
mod flip;
mod gather;
mod index;
mod scatter;

pub(super) use choose::chosen;
pub use choose::where_cond;
pub use flip::flip;
pub use gather::gather;
pub use index::index_select;
pub(super) use index::{rows_at, selected};
pub(super) use scatter::{replaced, written};

use super::check;
use super::lookup::{outside, positions, shared_along};
use crate::error;
use crate::tensor::Raw;
use candle_core::Result;

/// The elements of one task.
const CHUNK: usize = 1 << 14;

/// Checks that indices are integers on the device of `x`, and on the CPU that they are in range.
fn check_indices(caller: &str, x: &Raw, indices: &Raw, dim: usize) -> Result<()> {
    check_type(caller, x, indices)?;
    check_range(caller, x, indices, dim)
}

fn check_type(caller: &str, x: &Raw, indices: &Raw) -> Result<()> {
    if !indices.dtype().is_int() {
        return Err(error::dtype(
            caller,
            "integers as indices",
            indices.dtype(),
            "Convert them: indices.to_dtype(DType::I64)",
        )
        .into());
    }
    check::same_device_of_two(caller, x, indices)
}

fn check_range(caller: &str, x: &Raw, indices: &Raw, dim: usize) -> Result<()> {
    if !indices.device().is_cpu() {
        return Ok(());
    }
    let size = x.dims()[dim];
    let Some(wrong) = outside(indices, size)? else {
        return Ok(());
    };
    Err(error::index(
        caller,
        "index",
        wrong,
        size,
        format_args!("Indices of dimension {dim} count from 0"),
    )
    .into())
}

#[cfg(test)]
mod tests;
