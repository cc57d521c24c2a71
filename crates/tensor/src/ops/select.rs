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
pub(super) use index::{added_parts, selected};
pub(super) use scatter::{replaced, written};

use super::check;
use super::engine::autograd::IndexedCopy;
use super::lookup::{outside, positions, shared_along};
use crate::error::refuse;
use crate::tensor::Raw;
use candle_core::Result;

/// Returns where the elements at the indices of a dimension of a base are, on the CPU.
fn places(indices: &Raw, base: &[usize], dim: usize) -> Result<IndexedCopy> {
    Ok(match shared_along(dim, indices, base)? {
        Some(row) => IndexedCopy::of_parts(positions(&row)?, base, dim),
        None => IndexedCopy::of_elements(positions(indices)?, base, dim),
    })
}

/// Checks that indices are integers on the device of `x`.
fn check_type(caller: &str, x: &Raw, indices: &Raw) -> Result<()> {
    refuse!(if !indices.dtype().is_int(); dtype(caller, indices.dtype());
        "integers as indices", "Convert them: indices.to_dtype(DType::I64)");
    check::same_device_of_two(caller, x, indices)
}

/// Checks on the CPU that indices are in range.
fn check_range(caller: &str, x: &Raw, indices: &Raw, dim: usize) -> Result<()> {
    if !indices.device().is_cpu() {
        return Ok(());
    }
    let size = x.dims()[dim];
    let row = shared_along(dim, indices, x.dims())?;
    let Some(wrong) = outside(row.as_ref().unwrap_or(indices), size)? else {
        return Ok(());
    };
    refuse!(index(caller, "index", wrong, size); "Indices of dimension {dim} count from 0")
}

#[cfg(test)]
mod tests;
