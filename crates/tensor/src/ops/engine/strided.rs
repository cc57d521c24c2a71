//! Copies of strided tensors, such as a transposed matrix.

use super::autograd::can_move;
use super::{CpuView, Element, with_elements};
use crate::ops::check::output;
use crate::tensor::Raw;
use candle_core::{CpuStorage, Result, WithDType};
use taper_compute::strided;

/// Returns the tensor with its elements one after the other, so that kernels can read it as a slice, and without its
/// graph.
pub(crate) fn in_order(x: &Raw) -> Result<Raw> {
    match !x.is_contiguous() && x.elem_count() > 0 && can_move(x) {
        true => Ok(Raw::from_cpu(elements(x, &[])?, x.dims())),
        false => x.values().contiguous().map(Raw::from),
    }
}

/// Returns the elements of a tensor that is not empty, in the order of its indices, which is reversed along some dimensions.
pub(in crate::ops) fn elements(x: &Raw, reversed: &[usize]) -> Result<CpuStorage> {
    fn copied<T: WithDType>(values: &[T], x: &Raw, reversed: &[usize]) -> CpuStorage {
        T::to_cpu_storage_owned(strided::copied(values, x.dims(), x.stride(), reversed))
    }
    output(&"contiguous", x.dims(), x)?;
    let view = CpuView::of_strided(x)?;
    with_elements!(view, |values| Ok(copied(values, x, reversed)))
}

/// Adds the elements of a tensor that is not empty to those of `out` at these strides, which must differ for different
/// elements.
pub(in crate::ops) fn add_strided<T: Element>(
    x: &Raw,
    strides: &[usize],
    out: &mut [T],
) -> Result<()> {
    let view = CpuView::of_strided(x)?;
    strided::add(view.as_slice::<T>()?, x.dims(), x.stride(), out, strides);
    Ok(())
}

#[cfg(test)]
mod tests;
