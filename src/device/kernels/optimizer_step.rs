//! The steps of SGD and Adam: a kernel updates a parameter and its state in place.

use super::Argument::{self, F32, U32, U64};
#[cfg(feature = "cuda")]
use candle_core::{CpuStorage, CudaStorage, InplaceOp1, Layout, Result, Storage, Tensor, bail};
#[cfg(feature = "cuda")]
use std::cell::RefCell;

/// The kernel's name, and its arguments after the addresses and the number of elements.
pub(crate) struct Step {
    pub(crate) kernel: &'static str,
    /// How many tensors the kernel can change: it gets the address 0 for a state that does not exist.
    pub(crate) addresses: usize,
    pub(crate) values: Vec<f64>,
    /// The position of an integer among the values.
    pub(crate) integer: Option<usize>,
}

impl Step {
    pub(crate) fn arguments(
        &self,
        changed: &[u64],
        gradient: u64,
        elements: usize,
    ) -> Vec<Argument> {
        let missing = self.addresses - changed.len();
        let changed = changed
            .iter()
            .copied()
            .chain(std::iter::repeat_n(0, missing));
        let addresses = changed.chain([gradient, elements as u64]).map(U64);
        let values = self
            .values
            .iter()
            .enumerate()
            .map(|(i, value)| match self.integer {
                Some(integer) if integer == i => U32(*value as u32),
                _ => F32(*value as f32),
            });
        addresses.chain(values).collect()
    }

    /// Updates tensors of `f32` in place: the parameter and its state.
    #[cfg(feature = "cuda")]
    pub(crate) fn run(&self, changed: &[&Tensor], gradient: &Tensor) -> Result<()> {
        use candle_core::cuda_backend::cudarc::driver::DevicePtr;

        let gradient = gradient.contiguous()?;
        let (storage, layout) = gradient.storage_and_layout();
        let (Storage::Cuda(from), Some((start, end))) = (&*storage, layout.contiguous_offsets())
        else {
            bail!("optimiser step: expected a gradient on a GPU");
        };
        let device = from.device.clone();
        let slice = from.as_cuda_slice::<f32>()?.slice(start..end);
        let stream = device.cuda_stream();
        let (address, _guard) = slice.device_ptr(&stream);
        let launch = |changed: &[u64]| {
            let arguments = self.arguments(changed, address, end - start);
            // SAFETY: all tensors have the gradient's elements, and each that is changed is borrowed mutably.
            unsafe { super::launch(&device, self.kernel, end - start, &arguments) }
        };
        with_addresses(changed, vec![], &launch)
    }
}

/// Calls `work` with the addresses in `open`, followed by those of the tensors.
#[cfg(feature = "cuda")]
fn with_addresses(
    tensors: &[&Tensor],
    open: Vec<u64>,
    work: &dyn Fn(&[u64]) -> Result<()>,
) -> Result<()> {
    use candle_core::cuda_backend::cudarc::driver::DevicePtrMut;

    struct Open<F>(RefCell<F>);

    impl<F: FnMut(u64) -> Result<()>> InplaceOp1 for Open<F> {
        fn name(&self) -> &'static str {
            "optimiser-step"
        }

        fn cpu_fwd(&self, _: &mut CpuStorage, _: &Layout) -> Result<()> {
            bail!("optimiser step: expected a tensor on a GPU, found one on the CPU")
        }

        fn cuda_fwd(&self, storage: &mut CudaStorage, layout: &Layout) -> Result<()> {
            let Some((start, end)) = layout.contiguous_offsets() else {
                bail!("optimiser step: expected a contiguous tensor");
            };
            let stream = storage.device.cuda_stream();
            let mut values = storage.as_cuda_slice_mut::<f32>()?.slice_mut(start..end);
            let (address, _guard) = values.device_ptr_mut(&stream);
            (self.0.borrow_mut())(address)
        }
    }

    let Some((first, rest)) = tensors.split_first() else {
        return work(&open);
    };
    first.inplace_op1(&Open(RefCell::new(|address| {
        let open = open.iter().copied().chain([address]).collect();
        with_addresses(rest, open, work)
    })))
}
