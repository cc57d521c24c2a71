//! Sums over the GPUs of all ranks by NVIDIA's NCCL, whose connection the ranks set up through MPI.

use crate::distributed::world::World;
use crate::error::{Error, Result, problem, refuse};
use crate::tensor::Tensor;
use candle_core::cuda_backend::cudarc::nccl::result::NcclError;
use candle_core::cuda_backend::cudarc::nccl::{Comm, Id, ReduceOp, group_end, group_start};
use candle_core::{CpuStorage, CudaDevice, CudaStorage, CustomOp1, Layout, Shape};
use std::ffi::c_char;

/// The connection of this rank's GPU to those of the others.
pub(super) struct Nccl {
    comm: Comm,
}

// SAFETY: a communicator may be used by any thread, by one at a time; `Mpi` holds it in a mutex.
unsafe impl Send for Nccl {}

impl Nccl {
    /// Connects all ranks; `broadcast` overwrites bytes with those of rank 0.
    pub(super) fn connect(
        world: World,
        device: &CudaDevice,
        broadcast: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Self> {
        let mut id = [0; 128];
        if world.rank == 0 {
            id = Id::new().map_err(failed)?.internal().map(|c| c as u8);
        }
        broadcast(&mut id)?;
        let id = Id::uninit(id.map(|byte| byte as c_char));
        let comm = Comm::from_rank(device.cuda_stream(), world.rank, world.size, id);
        Ok(Self {
            comm: comm.map_err(failed)?,
        })
    }

    /// Queues the sums over the ranks of the elements of each tensor.
    pub(super) fn sums(&self, tensors: &[Tensor]) -> Result<Vec<Tensor>> {
        group_start().map_err(failed)?;
        let sums = tensors.iter().map(|x| {
            let sums = x.raw().apply_op1_no_bwd(&Sum(&self.comm))?;
            Ok(Tensor::from_raw(sums))
        });
        let sums: Result<Vec<Tensor>> = sums.collect();
        group_end().map_err(failed)?;
        sums
    }
}

/// The sum over the ranks, as an operation on the memory of a GPU.
struct Sum<'a>(&'a Comm);

impl CustomOp1 for Sum<'_> {
    fn name(&self) -> &'static str {
        "the sum over ranks"
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout) -> candle_core::Result<(CpuStorage, Shape)> {
        refuse!(state("the sum of gradients");
            "a gradient is not on the GPU", "Please report this bug")
    }

    fn cuda_fwd(
        &self,
        storage: &CudaStorage,
        layout: &Layout,
    ) -> candle_core::Result<(CudaStorage, Shape)> {
        let values = storage.as_cuda_slice::<f32>()?;
        let start = layout.start_offset();
        let values = values.slice(start..start + layout.shape().elem_count());
        // SAFETY: NCCL writes all elements before a later operation of the same stream reads them.
        let mut sums = unsafe { storage.device.alloc::<f32>(values.len())? };
        let queued = self.0.all_reduce(&values, &mut sums, &ReduceOp::Sum);
        queued.map_err(failed)?;
        let sums = CudaStorage::wrap_cuda_slice(sums, storage.device.clone());
        Ok((sums, layout.shape().clone()))
    }
}

fn failed(NcclError(status): NcclError) -> Error {
    problem!(
        "NCCL failed with {status:?}";
        "Each rank needs a GPU of its own; NCCL_DEBUG=INFO prints what NCCL does")
}
