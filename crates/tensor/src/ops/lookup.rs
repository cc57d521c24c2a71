//! Indices of classes and tokens: an error for those out of range, or NaN where an error would make
//! a GPU wait.

use super::engine::CpuView;
use crate::error::refuse;
use crate::tensor::Raw;
use candle_core::{DType, Result};
use std::fmt::Display;
use taper_compute::threads::map_chunks;

/// Checks that `count` is not 0 if there are indices, and on the CPU that all are in `0..count`. On other
/// devices reading them would make every step wait for the device; there [`or_nan`] replaces the check.
pub(super) fn check_indices(
    caller: &dyn Display,
    what: &str,
    indices: &Raw,
    count: usize,
    remedy: &str,
) -> Result<()> {
    if indices.elem_count() == 0 {
        return Ok(());
    }
    let Some(last) = count.checked_sub(1) else {
        refuse!(argument(caller, 0); "at least one {what}", "To use {what} indices, {remedy}");
    };
    if !indices.device().is_cpu() {
        return Ok(());
    }
    let Some(wrong) = outside(indices, count)? else {
        return Ok(());
    };
    refuse!(
        "{caller}: {what} {wrong} is out of range: there are {count}, from 0 to {last}";
        "Use {what} indices from 0 to {last}, or {remedy}")
}

/// Returns the first index that is not in `0..count`, if there is one. The indices are on the CPU.
pub(super) fn outside(indices: &Raw, count: usize) -> Result<Option<i64>> {
    let indices = positions(indices)?;
    let view = CpuView::of(&indices)?;
    let indices = view.as_slice::<i64>()?;
    // A negative index is a large one without its sign. No early exit, so that the compiler vectorises the loop.
    let is_outside = |index: &i64| *index as u64 >= count as u64;
    let any = |part: &[i64]| part.iter().fold(false, |any, i| any | is_outside(i));
    match map_chunks(indices, 1 << 14, any).contains(&true) {
        true => Ok(indices.iter().copied().find(is_outside)),
        false => Ok(None),
    }
}

/// Returns the indices as contiguous `i64`.
pub(super) fn positions(indices: &Raw) -> Result<Raw> {
    indices.detach().to_dtype(DType::I64)?.contiguous()
}

/// Returns the indices along a dimension if they were broadcast to the other dimensions of this shape, so that all places
/// share them: whole rows can be read or added then, without a copy of the indices for each element.
pub(super) fn shared_along(dim: usize, indices: &Raw, shape: &[usize]) -> Result<Option<Raw>> {
    if indices.rank() != shape.len() || !indices.device().is_cpu() || indices.elem_count() == 0 {
        return Ok(None);
    }
    let others = { 0..shape.len() }.filter(|other| *other != dim);
    let is_shared = others.clone().all(|i| {
        let size = indices.dims()[i];
        size == shape[i] && (size == 1 || indices.stride()[i] == 0)
    });
    if !is_shared {
        return Ok(None);
    }
    let row = { others }.try_fold(indices.clone(), |row, i| row.narrow(i, 0, 1));
    row?.flatten_all().map(Some)
}

/// Returns the rows that `look_up` finds for the indices in `0..count`, and a row of NaN for each of the
/// others. A GPU needs this: after a kernel has met an index out of range, CUDA refuses all work until
/// the program restarts.
pub(super) fn or_nan(
    indices: &Raw,
    count: usize,
    look_up: impl FnOnce(&Raw) -> Result<Raw>,
) -> Result<Raw> {
    // Compared as 64-bit integers: truncated to 32 bits, an index that is far too large may look valid.
    let indices = indices.to_dtype(DType::I64)?;
    let valid = (indices.ge(0i64)? * indices.lt(count as i64)?)?; // (indices,)
    let safe = valid
        .where_cond(&indices, &indices.zeros_like()?)?
        .to_dtype(DType::U32)?;
    let found = look_up(&safe)?; // (indices, …)
    let mut shape = vec![1; found.rank()];
    shape[0] = valid.elem_count();
    let valid = valid.reshape(shape)?.broadcast_as(found.shape())?;
    let nan = Raw::full(f32::NAN, (), found.device())?.to_dtype(found.dtype())?;
    valid.where_cond(&found, &nan.broadcast_as(found.shape())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::tensor;

    #[test]
    fn without_classes_every_index_is_refused() {
        let indices = Raw::from(tensor(&[0]));
        let check = |indices: &Raw| check_indices(&"loss", "class", indices, 0, "add outputs");
        assert_eq!(
            check(&indices).unwrap_err().to_string(),
            "loss: expected at least one class, found 0\nTo use class indices, add outputs"
        );
        check(&indices.narrow(0, 0, 0).unwrap()).unwrap();
    }

    #[test]
    fn without_a_check_indices_out_of_range_give_nan() {
        let weight = tensor(&[[1.0, 2.0], [3.0, 4.0]]);
        let indices = tensor(&[1, 2, 0]);
        let look_up = |indices: &Raw| weight.raw().index_select(indices, 0);
        let rows = or_nan(indices.raw(), 2, look_up).unwrap();
        let rows = rows.to_vec2::<f32>().unwrap();
        assert_eq!((&rows[0], &rows[2]), (&vec![3.0, 4.0], &vec![1.0, 2.0]));
        assert!(rows[1].iter().all(|x| x.is_nan()));
    }
}
