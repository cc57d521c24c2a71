//! The memory of a device.

#[cfg(feature = "cuda")]
use candle_core::Device;
#[cfg(feature = "cuda")]
use candle_core::cuda_backend::cudarc::driver::sys;

/// The memory of a device, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    pub(super) free: usize,
    pub(super) total: usize,
}

/// The memory that a pool has reserved, and the part of it that tensors use, in bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct Pool {
    pub(super) reserved: u64,
    pub(super) used: u64,
}

impl Memory {
    /// Adds the memory that the pool keeps for the next tensors to the free memory; the driver counts it as
    /// used.
    pub(super) fn with(self, pool: Pool) -> Self {
        let kept = pool.reserved.saturating_sub(pool.used) as usize;
        Self {
            free: (self.free + kept).min(self.total),
            ..self
        }
    }
}

#[cfg(feature = "cuda")]
pub(super) fn memory(device: &Device) -> Option<Memory> {
    let stream = device.as_cuda_device().ok()?.cuda_stream();
    let (free, total) = stream.context().mem_get_info().ok()?;
    let pool = pool(stream.context().cu_device()).unwrap_or_default();
    Some(Memory { free, total }.with(pool))
}

/// Returns the state of the pool of a card; `None` if it has none.
#[cfg(feature = "cuda")]
fn pool(card: sys::CUdevice) -> Option<Pool> {
    use sys::CUmemPool_attribute as Attribute;
    let mut pool = std::ptr::null_mut();
    // SAFETY: the pointer is valid during the call.
    unsafe { sys::cuDeviceGetDefaultMemPool(&mut pool, card) }
        .result()
        .ok()?;
    let value = |attribute: Attribute| {
        let mut bytes = 0u64;
        // SAFETY: the pool is that of the card, and both attributes are a `u64`.
        let called =
            unsafe { sys::cuMemPoolGetAttribute(pool, attribute, (&raw mut bytes).cast()) };
        called.result().ok().map(|()| bytes)
    };
    Some(Pool {
        reserved: value(Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?,
        used: value(Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_pool_keeps_is_free() {
        let memory = Memory {
            free: 10,
            total: 100,
        };
        let with = |reserved, used| memory.with(Pool { reserved, used }).free;
        assert_eq!((with(50, 20), with(0, 0)), (40, 10));
        assert_eq!((with(20, 50), with(500, 0)), (10, 100));
    }
}
