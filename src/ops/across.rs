//! Sums over the parts of a batch that other processes compute, as an operation with a gradient.

use super::tape::{self, Backward, Downstream, Upstream};
use crate::tensor::{Raw, SyncStats};
use candle_core::{CpuStorage, CustomOp1, DType, Device, Layout, Result, Shape};

impl SyncStats {
    /// Returns the sums of the elements over all processes.
    pub(crate) fn sum(&self, x: &Raw) -> Result<Raw> {
        let own = x.to_dtype(DType::F32)?;
        let own = own.to_device(&Device::Cpu)?.contiguous()?;
        let sums = own.values().apply_op1_no_bwd(self)?;
        let back = || Back(self.clone());
        let sums = tape::record(sums, &[&own], back);
        sums.to_device(x.device())?.to_dtype(x.dtype())
    }
}

impl CustomOp1 for SyncStats {
    fn name(&self) -> &'static str {
        "the sum over ranks"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let start = layout.start_offset();
        let end = start + layout.shape().elem_count();
        let mut values = storage.as_slice::<f32>()?[start..end].to_vec();
        if self.own == 0 {
            // A product with 0 before the sum would not do: Candle passes no gradient through it, but the
            // backward pass needs this process too.
            values.fill(0.0);
        }
        (self.sum)(&mut values)?;
        Ok((CpuStorage::F32(values), layout.shape().clone()))
    }
}

/// The loss of a process is the mean over its own examples, and its gradients are weighted by the number of these
/// examples later. So each process weights the gradient that it adds to this sum, and divides the sum by its own weight.
struct Back(SyncStats);

impl Backward for Back {
    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let weighted = match self.0.own {
            0 => upstream.gradient.zeros_like()?,
            own => (upstream.gradient * own as f64)?,
        };
        let sums = weighted.values().apply_op1_no_bwd(&self.0)?;
        let of_x = (sums / self.0.own.max(1) as f64)?;
        Ok([Some(of_x.into()), None, None])
    }
}
