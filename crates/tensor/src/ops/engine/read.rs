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
    let (mut inputs, mut copies) = (tensors, [const { None }; N]);
    put_in_order(&mut inputs, &mut copies)?;
    read_strided(inputs, compute)
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
///
/// There is one of this function for each kernel, so what does not depend on the kernel is in functions of its own.
pub(in crate::ops) fn read_strided<T: WithDType, R, const N: usize>(
    tensors: [&Raw; N],
    compute: impl FnOnce([&[T]; N]) -> R,
) -> Result<R> {
    let mut views = [const { None }; N];
    open(&tensors, &mut views)?;
    let mut slices: [&[T]; N] = [&[]; N];
    borrow(&views, &mut slices)?;
    Ok(compute(slices))
}

/// Replaces the inputs that are not contiguous with copies.
#[inline(never)]
fn put_in_order<'a>(inputs: &mut [&'a Raw], copies: &'a mut [Option<Raw>]) -> Result<()> {
    for (x, copy) in inputs.iter_mut().zip(copies) {
        if !x.is_contiguous() {
            *x = copy.insert(in_order(x)?);
        }
    }
    Ok(())
}

#[inline(never)]
fn open<'a>(tensors: &[&'a Raw], views: &mut [Option<CpuView<'a>>]) -> Result<()> {
    for (x, view) in tensors.iter().zip(views) {
        *view = Some(CpuView::of_strided(x)?);
    }
    Ok(())
}

#[inline(never)]
fn borrow<'a, T: WithDType>(
    views: &'a [Option<CpuView<'_>>],
    slices: &mut [&'a [T]],
) -> Result<()> {
    for (view, slice) in views.iter().flatten().zip(slices) {
        *slice = view.as_slice()?;
    }
    Ok(())
}
