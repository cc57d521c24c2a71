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
    let mut inputs = tensors;
    for (input, copy) in inputs.iter_mut().zip(&copies) {
        *input = copy.as_ref().unwrap_or(input);
    }
    read_views(inputs, CpuView::of, compute)
}

/// Returns contiguous copies of the inputs of a kernel, if one of them is not contiguous. Their gradients flow on.
pub(in crate::ops) fn copies(inputs: &[&Raw]) -> Result<Option<Vec<Raw>>> {
    match inputs.iter().all(|x| x.is_contiguous()) {
        true => Ok(None),
        false => { inputs.iter().map(|x| x.contiguous()) }
            .collect::<Result<_>>()
            .map(Some),
    }
}

/// Does what [`read`] does, for any number of contiguous tensors.
pub(in crate::ops) fn read_all<T: WithDType, R>(
    tensors: &[&Raw],
    compute: impl FnOnce(&[&[T]]) -> R,
) -> Result<R> {
    let views = tensors.iter().map(|x| CpuView::of(x));
    let views = views.collect::<Result<Vec<_>>>()?;
    let slices = views.iter().map(CpuView::as_slice);
    Ok(compute(&slices.collect::<Result<Vec<&[T]>>>()?))
}

/// Calls `compute` with the elements of tensors from the first on, where their strides say.
pub(in crate::ops) fn read_strided<T: WithDType, R, const N: usize>(
    tensors: [&Raw; N],
    compute: impl FnOnce([&[T]; N]) -> R,
) -> Result<R> {
    read_views(tensors, CpuView::of_strided, compute)
}

fn read_views<'a, T: WithDType, R, const N: usize>(
    tensors: [&'a Raw; N],
    of: fn(&'a Raw) -> Result<CpuView<'a>>,
    compute: impl FnOnce([&[T]; N]) -> R,
) -> Result<R> {
    let mut views = [const { None }; N];
    for (view, x) in views.iter_mut().zip(tensors) {
        *view = Some(of(x)?);
    }
    let mut slices: [&[T]; N] = [&[]; N];
    for (slice, view) in slices.iter_mut().zip(views.iter().flatten()) {
        *slice = view.as_slice()?;
    }
    Ok(compute(slices))
}
