//! The kind of GPU that this build supports: CUDA, Metal or none, chosen by the crate's features.

pub(super) use kind::{count, open};

use crate::error::explain;
use candle_core::{Device, Result};

/// Refuses a kind of GPU (`"cuda"`, `"metal"`) other than the one this build supports.
pub(super) fn require(wanted: &str) -> Result<()> {
    if kind::NAME.is_none_or(|name| name == wanted) {
        return Ok(());
    }
    Err(explain(
        format!("this build of Taper has no support for {wanted} devices"),
        format!("Build it with `features = [\"{wanted}\"]`, or use try_gpu(0)"),
    ))
}

#[cfg(feature = "cuda")]
mod kind {
    use super::*;
    use candle_core::cuda_backend::cudarc::driver::CudaContext;

    pub(super) const NAME: Option<&str> = Some("cuda");

    pub(in super::super) fn count() -> Result<usize> {
        match CudaContext::device_count() {
            Ok(count) => Ok(count.max(0) as usize),
            Err(error) => Err(explain(
                format!("no GPU can be used: the NVIDIA driver does not answer ({error})"),
                "Run `nvidia-smi` in a terminal to see the driver's state, or use cpu()",
            )),
        }
    }

    pub(in super::super) fn open(index: usize) -> Result<Device> {
        Device::new_cuda(index)
    }
}

#[cfg(all(feature = "metal", not(feature = "cuda")))]
mod kind {
    use super::*;
    use std::sync::OnceLock;

    pub(super) const NAME: Option<&str> = Some("metal");

    pub(in super::super) fn count() -> Result<usize> {
        static COUNT: OnceLock<usize> = OnceLock::new();
        Ok(*COUNT.get_or_init(|| usize::from(open(0).is_ok())))
    }

    pub(in super::super) fn open(index: usize) -> Result<Device> {
        Device::new_metal(index)
    }
}

#[cfg(not(any(feature = "cuda", feature = "metal")))]
mod kind {
    use super::*;

    pub(super) const NAME: Option<&str> = None;

    pub(in super::super) fn count() -> Result<usize> {
        Err(explain(
            "no GPU can be used: this build of Taper is for the CPU only",
            "Build it with `features = [\"cuda\"]` (\"metal\" on a Mac), \
             or use try_gpu(0), which falls back to the CPU",
        ))
    }

    pub(in super::super) fn open(_index: usize) -> Result<Device> {
        count().map(|_| Device::Cpu)
    }
}
