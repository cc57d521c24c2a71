//! The all-reduce of synchronised batch normalisation: sums over the parts of a batch that other processes compute, as
//! an operation with a gradient.

use super::tape::{self, Backward, Downstream, Upstream};
use crate::tensor::{Raw, SyncStats};
use candle_core::{DType, Device, Result};

impl SyncStats {
    /// Returns the sums of the elements over all processes.
    pub(crate) fn sum(&self, x: &Raw) -> Result<Raw> {
        let own = x.to_dtype(DType::F32)?;
        let own = own.to_device(&Device::Cpu)?.contiguous()?;
        let sums = self.all_reduce(&own)?;
        let back = || Back(self.clone());
        let sums = tape::record(sums, &[&own], back);
        sums.to_device(x.device())?.to_dtype(x.dtype())
    }

    fn all_reduce(&self, x: &Raw) -> Result<candle_core::Tensor> {
        let mut values = x.values().flatten_all()?.to_vec1::<f32>()?;
        if self.own == 0 {
            // A product with 0 before the sum would not do: Candle passes no gradient through it, but the
            // backward pass needs this process too.
            values.fill(0.0);
        }
        (self.sum)(&mut values)?;
        candle_core::Tensor::from_vec(values, x.shape(), &Device::Cpu)
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
        let sums = self.0.all_reduce(&weighted)?;
        let of_x = (sums / self.0.own.max(1) as f64)?;
        Ok([Some(of_x.into()), None, None])
    }
}
