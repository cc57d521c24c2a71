//! The steps of optimisers: each updates parameters and their state in place, in one pass.

mod formula;
#[cfg(any(feature = "cuda", feature = "testing", test))]
mod trace;

pub use formula::{Formula, StepRule};

use super::engine::autograd::has_kernel;
use super::engine::{CpuView, Element, dispatch_dtype};
use crate::tensor::{Raw, Tensor};
use candle_core::{CpuStorage, DType, InplaceOp1, Layout, Result, bail};
use formula::UpdateChunk;
use std::cell::Cell;
use taper_compute::shared_slice::SharedSlice;
use taper_compute::threads::for_each_task;

/// The elements of one task.
const CHUNK: usize = 1 << 15;

/// A parameter in a step: its value, its gradient, and the optimiser's state of it.
#[doc(hidden)]
#[derive(Clone)]
pub struct StepTensors {
    pub value: Raw,
    pub gradient: Raw,
    pub state: Vec<Raw>,
}

impl StepTensors {
    /// Returns the tensors that the step changes.
    fn changed(&self) -> Vec<&Raw> {
        [&self.value].into_iter().chain(&self.state).collect()
    }

    /// Returns whether the kernels can take an optimiser's step: the shapes must be equal, and each tensor that
    /// the step changes must be contiguous and share its memory with none of the others.
    pub fn have_kernel(&self) -> bool {
        let all: Vec<&Raw> = [&self.gradient].into_iter().chain(self.changed()).collect();
        let shared = |a, b| Tensor::from_raw_ref(a).shares_storage_with(Tensor::from_raw_ref(b));
        let own_memory = |i: usize| all[..i].iter().all(|other| !shared(all[i], other));
        (has_kernel(&all) || are_on_gpu(&all))
            && all.iter().all(|tensor| tensor.dims() == self.value.dims())
            && (1..all.len()).all(|i| all[i].is_contiguous() && own_memory(i))
    }
}

/// Takes a step: updates the values and the state in place. All tensors must [have a kernel](StepTensors::have_kernel).
#[doc(hidden)]
pub fn step_in_place(parameters: &[StepTensors], rule: &dyn StepRule) -> Result<()> {
    for parameter in parameters {
        let StepTensors {
            value, gradient, ..
        } = parameter;
        if value.device().is_cpu() {
            dispatch_dtype!(value, in_chunks(&parameter.changed(), gradient, rule))?;
        }
    }
    #[cfg(feature = "cuda")]
    on_gpus(parameters, rule)?;
    Ok(())
}

/// Takes the step with one kernel for all parameters of a GPU.
#[cfg(feature = "cuda")]
fn on_gpus(parameters: &[StepTensors], rule: &dyn StepRule) -> Result<()> {
    let mut left: Vec<&StepTensors> = { parameters.iter() }
        .filter(|parameter| !parameter.value.device().is_cpu())
        .collect();
    while let Some(first) = left.first() {
        let program = rule.on_gpu(first.state.len());
        let device = first.value.device();
        let (here, others): (Vec<_>, Vec<_>) = { left.iter().copied() }
            .partition(|parameter| parameter.value.device().same_device(device));
        let gradients: Vec<Raw> = { here.iter() }
            .map(|parameter| parameter.gradient.contiguous())
            .collect::<Result<_>>()?;
        let tensors = here.iter().zip(&gradients).map(|(parameter, gradient)| {
            let all = parameter.changed().into_iter().chain([gradient]);
            all.map(Raw::values).collect()
        });
        program.run(&tensors.collect::<Vec<_>>())?;
        left = others;
    }
    Ok(())
}

/// Returns whether the tensors are on a GPU, and of the type of its kernels.
fn are_on_gpu(all: &[&Raw]) -> bool {
    let suits = |tensor: &&Raw| tensor.device().is_cuda() && tensor.dtype() == DType::F32;
    all.iter().all(suits)
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
