//! Choices: elements by a mask, by indices, in reverse order.

mod choose;
mod flip;
mod gather;
mod index;

pub(super) use choose::chosen;
pub use choose::where_cond;
pub use flip::flip;
pub use gather::gather;
pub use index::index_select;

use super::check;
use super::engine::CpuView;
use super::engine::threads::map_chunks;
use crate::error;
use crate::tensor::Raw;
use candle_core::{DType, Result};

/// The elements of one task.
const CHUNK: usize = 1 << 14;

/// Checks that indices are integers on the device of `x`, and on the CPU that they are in range.
fn check_indices(caller: &str, x: &Raw, indices: &Raw, dim: usize) -> Result<()> {
    if !indices.dtype().is_int() {
        return Err(error::dtype(
            caller,
            "integers as indices",
            indices.dtype(),
            "Convert them: indices.to_dtype(DType::I64)",
        ));
    }
    check::same_device_of_two(caller, x, indices)?;
    if !indices.device().is_cpu() {
        return Ok(());
    }
    let size = x.dims()[dim];
    let indices = positions(indices)?;
    let view = CpuView::of(&indices)?;
    let indices = view.as_slice::<i64>()?;
    // A negative index is a large one without its sign.
    let wrong = |part: &[i64]| {
        part.iter()
            .fold(false, |wrong, i| wrong | (*i as u64 >= size as u64))
    };
    if !map_chunks(indices, CHUNK, wrong).contains(&true) {
        return Ok(());
    }
    let wrong = indices
        .iter()
        .find(|index| !(0..size as i64).contains(index));
    Err(error::index(
        caller,
        "index",
        wrong.copied().unwrap_or_default(),
        size,
        format_args!("Indices of dimension {dim} count from 0"),
    ))
}

/// Returns the indices as contiguous `i64`.
fn positions(indices: &Raw) -> Result<Raw> {
    indices.detach().to_dtype(DType::I64)?.contiguous()
}

#[cfg(test)]
mod tests;
