//! The steps of optimisers: each updates a parameter and its state in place, in one pass.

mod formula;

pub(crate) use formula::{Formula, StepRule};

use super::engine::autograd::has_kernel;
use super::engine::{CpuView, Element, dispatch_dtype};
use crate::tensor::{Raw, Tensor};
#[cfg(feature = "cuda")]
use candle_core::DType;
use candle_core::{CpuStorage, InplaceOp1, Layout, Result, bail};
use formula::UpdateChunk;
use std::cell::Cell;
use taper_compute::shared_slice::SharedSlice;
use taper_compute::threads::for_each_task;

/// The elements of one task.
const CHUNK: usize = 1 << 15;

/// Takes a step: updates the value and its state in place. The tensors must
/// [have a kernel](has_step_kernel).
pub(crate) fn step_in_place(
    value: &Raw,
    gradient: &Raw,
    state: &[Raw],
    rule: &dyn StepRule,
) -> Result<()> {
    let changed: Vec<&Raw> = [value].into_iter().chain(state).collect();
    #[cfg(feature = "cuda")]
    if value.device().is_cuda() {
        let step = rule.on_gpu(state.len()).expect("there is a kernel");
        let changed: Vec<_> = changed.iter().map(|x| x.values()).collect();
        return step.run(&changed, gradient);
    }
    dispatch_dtype!(value, in_chunks(&changed, gradient, rule))
}

/// Returns whether the kernels can take an optimiser's step: the shapes must be equal, and each tensor that
/// the step changes must be contiguous and share its memory with none of the others.
pub(crate) fn has_step_kernel(
    value: &Raw,
    gradient: &Raw,
    state: &[Raw],
    rule: &dyn StepRule,
) -> bool {
    let all: Vec<&Raw> = [gradient, value].into_iter().chain(state).collect();
    let shared = |a, b| Tensor::from_raw_ref(a).shares_storage_with(Tensor::from_raw_ref(b));
    let own_memory = |i: usize| all[..i].iter().all(|other| !shared(all[i], other));
    (has_kernel(&all) || is_on_gpu(&all, rule))
        && all.iter().all(|tensor| tensor.dims() == value.dims())
        && (1..all.len()).all(|i| all[i].is_contiguous() && own_memory(i))
}

/// Returns whether the tensors are on a GPU, and it has a kernel for the rule.
#[cfg(feature = "cuda")]
fn is_on_gpu(all: &[&Raw], rule: &dyn StepRule) -> bool {
    let suits = |tensor: &&Raw| tensor.device().is_cuda() && tensor.dtype() == DType::F32;
    all.iter().all(suits) && rule.on_gpu(all.len() - 2).is_some()
}

#[cfg(not(feature = "cuda"))]
fn is_on_gpu(_: &[&Raw], _: &dyn StepRule) -> bool {
    false
}

/// Takes the step in chunks, on all cores.
fn in_chunks<T: Element>(
    changed: &[&Raw],
    gradient: &Raw,
    rule: &dyn UpdateChunk<T>,
) -> Result<()> {
    let gradient = gradient.contiguous()?;
    let view = CpuView::of(&gradient)?;
    let gradient = view.as_slice::<T>()?;
    let count = gradient.len();
    edit_all(changed, &[], &|all: &[SharedSlice<'_, T>]| {
        for_each_task(count.div_ceil(CHUNK), |i| {
            let (first, end) = (i * CHUNK, ((i + 1) * CHUNK).min(count));
            let chunks = all.iter().map(|all| {
                // SAFETY: the chunks of two tasks do not overlap, and the slices are in different memory,
                // as each is borrowed mutably.
                unsafe { all.part(first, end - first) }
            });
            rule.update(&mut chunks.collect::<Vec<_>>(), &gradient[first..end]);
        });
    })
}

/// Calls `work` with the slices in `open`, followed by the elements of each tensor.
fn edit_all<T: Element>(
    tensors: &[&Raw],
    open: &[SharedSlice<'_, T>],
    work: &dyn Fn(&[SharedSlice<'_, T>]),
) -> Result<()> {
    let Some((first, rest)) = tensors.split_first() else {
        work(open);
        return Ok(());
    };
    edit(first, |values| {
        let all: Vec<_> = open
            .iter()
            .copied()
            .chain([SharedSlice::new(values)])
            .collect();
        edit_all(rest, &all, work)
    })
}

/// Calls `work` with the elements of a contiguous tensor, to change them in place.
fn edit<T: Element>(tensor: &Raw, work: impl FnOnce(&mut [T]) -> Result<()>) -> Result<()> {
    struct Edit<F>(Cell<Option<F>>);

    impl<F: for<'a> FnOnce(&'a mut CpuStorage, &'a Layout) -> Result<()>> InplaceOp1 for Edit<F> {
        fn name(&self) -> &'static str {
            "optimiser-step"
        }

        fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
            match self.0.take() {
                Some(work) => work(storage, layout),
                None => bail!("optimiser step: expected a single call of the operation"),
            }
        }
    }

    tensor.inplace_op1(&Edit(Cell::new(Some(
        |storage: &mut CpuStorage, layout: &Layout| {
            let Some((from, to)) = layout.contiguous_offsets() else {
                bail!("optimiser step: expected a contiguous tensor");
            };
            work(&mut T::storage_slice_mut(storage)?[from..to])
        },
    ))))
}
