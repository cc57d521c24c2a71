//! Access to the elements of the inputs of a kernel.

use super::CpuView;
use super::strided::in_order;
use crate::tensor::Raw;
use candle_core::{Result, WithDType};

/// Calls `compute` with the elements of tensors, in the order of their indices.
pub(in crate::ops) fn read<T: WithDType, R, const N: usize>(
    tensors: [&Raw; N],
    compute: impl FnOnce([&[T]; N]) -> R,
) -> Result<R> {
    let mut copies = [const { None }; N];
    for (copy, x) in copies.iter_mut().zip(tensors) {
        if !x.is_contiguous() {
            *copy = Some(in_order(x)?);
        }
    }
    let mut views = [const { None }; N];
    for (view, (copy, x)) in views.iter_mut().zip(copies.iter().zip(tensors)) {
        *view = Some(CpuView::of(copy.as_ref().unwrap_or(x))?);
    }
    let mut slices: [&[T]; N] = [&[]; N];
    for (slice, view) in slices.iter_mut().zip(views.iter().flatten()) {
        *slice = view.as_slice()?;
    }
    Ok(compute(slices))
}
