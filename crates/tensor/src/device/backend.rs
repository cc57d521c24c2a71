//! The kind of GPU that this build supports: CUDA, Metal or none, chosen by the crate's features.

pub(super) use kind::{count, open, uuids};

use crate::error::{Result, refuse};
use candle_core::Device;

/// Returns an error for a kind of GPU (`"cuda"`, `"metal"`) other than the one that this build supports. In a
/// build for the CPU only, [`count`] returns the error.
pub(super) fn require(wanted: &str) -> Result<()> {
    if kind::NAME.is_none_or(|name| name == wanted) {
        return Ok(());
    }
    refuse!(gpu;
        "this build of Taper has no support for {wanted} devices",
        "Build it with `features = [\"{wanted}\"]`, or use try_gpu(0)")
}

#[cfg(feature = "cuda")]
mod kind {
    use super::*;
    use crate::device::errors::{explain_gpu, explained};
    use crate::error::problem;
    use candle_core::cuda_backend::CudaDevice;
    use candle_core::cuda_backend::cudarc::driver::{CudaContext, result, sys};

    pub(super) const NAME: Option<&str> = Some("cuda");

    pub(in super::super) fn count() -> Result<usize> {
        CudaContext::device_count()
            .map(|count| count.max(0) as usize)
            .map_err(|driver| {
                let unknown = || {
                    problem!(gpu;
                        "no GPU can be used: the NVIDIA driver does not answer ({driver})",
                        "Run `nvidia-smi` in a terminal to see the driver's state, or use cpu()")
                };
                explained(driver).unwrap_or_else(unknown)
            })
    }

    /// Returns the identifier of each GPU, as `nvidia-smi` writes it; empty if the driver does not report
    /// them.
    pub(in super::super) fn uuids() -> Vec<String> {
        let uuid = |index| {
            let card = result::device::get(index).ok()?;
            let bytes = result::device::get_uuid(card).ok()?.bytes;
            Some(uuid_text(bytes.map(|byte| byte as u8)))
        };
        let count = count().unwrap_or(0) as i32;
        (0..count)
            .map(uuid)
            .collect::<Option<_>>()
            .unwrap_or_default()
    }

    /// Opens a GPU with one stream for all threads. Candle's default is one stream for each thread, and
    /// then no thread waits for the work of another: data loaders and replicas would read values that
    /// are not computed yet.
    pub(in super::super) fn open(index: usize) -> Result<Device> {
        let device = explain_gpu(CudaDevice::new_with_stream(index), &Device::Cpu, None)?;
        // SAFETY: all threads use the same stream, so no event is needed to order their work.
        unsafe { device.disable_event_tracking() };
        keep_memory(&device);
        Ok(Device::Cuda(device))
    }

    /// Keeps the memory of dropped tensors for the next ones. Otherwise the driver would return it to the
    /// system each time that a value is fetched, and requesting it again takes longer than most kernels.
    fn keep_memory(device: &CudaDevice) {
        let stream = device.cuda_stream();
        let mut pool = std::ptr::null_mut();
        let mut threshold = u64::MAX;
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the context lives as long as the stream, and the pointers are valid during the calls.
        // A GPU without memory pools returns an error, and its allocations stay as they are.
        unsafe {
            let card = stream.context().cu_device();
            if sys::cuDeviceGetDefaultMemPool(&mut pool, card)
                .result()
                .is_ok()
            {
                let _ = sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut threshold).cast());
            }
        }
    }
}

/// Returns the text of an identifier: `GPU-` and 16 bytes in groups of 4, 2, 2, 2 and 6.
#[cfg(any(feature = "cuda", test))]
fn uuid_text(bytes: [u8; 16]) -> String {
    let separator = |i| match i {
        0 => "GPU-",
        4 | 6 | 8 | 10 => "-",
        _ => "",
    };
    let digits = bytes.iter().enumerate();
    digits
        .map(|(i, byte)| format!("{}{byte:02x}", separator(i)))
        .collect()
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
        Ok(Device::new_metal(index)?)
    }

    pub(in super::super) fn uuids() -> Vec<String> {
        vec![]
    }
}

#[cfg(not(any(feature = "cuda", feature = "metal")))]
mod kind {
    use super::*;

    pub(super) const NAME: Option<&str> = None;

    pub(in super::super) fn count() -> Result<usize> {
        refuse!(gpu;
            "no GPU can be used: this build of Taper is for the CPU only",
            "Build it with `features = [\"cuda\"]` (\"metal\" on a Mac), \
             or use try_gpu(0), which falls back to the CPU")
    }

    pub(in super::super) fn open(_index: usize) -> Result<Device> {
        count().map(|_| Device::Cpu)
    }

    pub(in super::super) fn uuids() -> Vec<String> {
        vec![]
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_identifier_is_written_as_the_driver_writes_it() {
        assert_eq!(
            super::uuid_text(std::array::from_fn(|i| i as u8 * 17)),
            "GPU-00112233-4455-6677-8899-aabbccddeeff"
        );
    }
}
