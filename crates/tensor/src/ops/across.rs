//! The all-reduce of synchronised batch normalisation: sums over the parts of a batch that other processes compute, as
//! an operation with a gradient.

use super::tape::first_order;
use crate::tensor::{Candle, Raw, SyncStats};
use candle_core::{DType, Device, Result};

impl SyncStats {
    /// Returns the sums of the elements over all processes.
    pub(crate) fn sum(&self, x: &Raw) -> Result<Raw> {
        let own = x.to_dtype(DType::F32)?;
        let own = own.to_device(&Device::Cpu)?.contiguous()?;
        let sums = self.all_reduce(own.values())?;
        let part = self.clone();
        let sums = first_order(sums, &[&own], "across", move |g| part.gradient(g));
        sums.to_device(x.device())?.to_dtype(x.dtype())
    }

    fn all_reduce(&self, x: &Candle) -> Result<Candle> {
        let mut values = x.flatten_all()?.to_vec1::<f32>()?;
        if self.own == 0 {
            // A product with 0 before the sum would not do: Candle passes no gradient through it, but the
            // backward pass needs this process too.
            values.fill(0.0);
        }
        (self.sum)(&mut values)?;
        Candle::from_vec(values, x.shape(), &Device::Cpu)
    }

    /// Returns the gradient of the elements of this process.
    ///
    /// The loss of a process is the mean over its own examples, and its gradients are weighted by the number of these
    /// examples later. So each process weights the gradient that it adds to this sum, and divides the sum by its own weight.
    fn gradient(&self, of_sums: &Candle) -> Result<Candle> {
        let weighted = match self.own {
            0 => of_sums.zeros_like()?,
            own => (of_sums * own as f64)?,
        };
        self.all_reduce(&weighted)? / self.own.max(1) as f64
    }
}
