//! The memory of a device.

#[cfg(feature = "cuda")]
use candle_core::Device;

/// The memory of a device, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    pub(super) free: usize,
    pub(super) total: usize,
}

#[cfg(feature = "cuda")]
pub(super) fn memory(device: &Device) -> Option<Memory> {
    let stream = device.as_cuda_device().ok()?.cuda_stream();
    let (free, total) = stream.context().mem_get_info().ok()?;
    Some(Memory { free, total })
}
