//! Taper's kernels for NVIDIA GPUs, where Candle's are slow or missing.
//!
//! `kernels/make` compiles `kernels.cu` to PTX, which is embedded in the program; the driver compiles it for
//! its GPU when a kernel is first used. The tests execute the PTX in an emulator.

mod add_bias;
mod channels;
#[cfg(any(feature = "cuda", test))]
mod keep;
mod operation;
#[cfg(any(feature = "cuda", feature = "testing", test))]
#[doc(hidden)]
pub mod optimizer_step;
#[cfg(any(feature = "testing", test))]
#[doc(hidden)]
pub mod testing;
#[cfg(test)]
mod tests;
mod windows;

pub(crate) use add_bias::AddBias;
pub(crate) use channels::{affine, combined};
#[cfg(feature = "cuda")]
pub(crate) use keep::Keep;
pub(crate) use windows::{
    Windows, indices_of_maxima, of_patches, of_picked, of_sums, patches, picked, sums,
};

use candle_core::{DType, Device};

/// Returns whether these kernels can compute with a tensor of this type on this device. In tests they do so on the CPU too, in Rust.
pub(crate) fn suits_kernels(device: &Device, dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64) && (device.is_cuda() || cfg!(test) && device.is_cpu())
}

#[cfg(any(feature = "cuda", test))]
const PTX: &str = include_str!("kernels/kernels.ptx");

/// The number of threads in a block.
#[cfg(any(feature = "cuda", feature = "testing", test))]
const BLOCK: u32 = 256;

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(any(feature = "cuda", test)),
    expect(dead_code, reason = "only a GPU reads it")
)]
pub(crate) enum Argument {
    U32(u32),
    /// An integer, or the address of memory on the GPU.
    U64(u64),
    F32(f32),
}

/// Returns how many blocks have at least this many threads; none for no threads, which a GPU refuses to start.
///
/// # Panics
/// If there are more threads than a GPU starts at once, 5·10¹¹: no GPU has memory for as many elements.
#[cfg(any(feature = "cuda", test))]
fn blocks(threads: usize) -> Option<u32> {
    let blocks = threads.div_ceil(BLOCK as usize);
    let blocks = i32::try_from(blocks).expect("there are at most 2^31 - 1 blocks");
    (blocks > 0).then_some(blocks as u32)
}

/// Starts a kernel of [`PTX`] with at least this many threads.
///
/// # Safety
/// The arguments must be those of the kernel. The memory at each address must be as large as the kernel
/// expects, must belong to the device, and must be freed only in the order of the device's stream.
#[cfg(feature = "cuda")]
unsafe fn launch(
    device: &candle_core::CudaDevice,
    kernel: &str,
    threads: usize,
    arguments: &[Argument],
) -> candle_core::Result<()> {
    use candle_core::cuda_backend::WrapErr;
    use candle_core::cuda_backend::cudarc::driver::{LaunchConfig, PushKernelArg};

    let Some(blocks) = blocks(threads) else {
        return Ok(());
    };
    let function = device.get_or_load_custom_func(kernel, "taper", PTX)?;
    let mut call = function.builder();
    for argument in arguments {
        match argument {
            Argument::U32(value) => call.arg(value),
            Argument::U64(value) => call.arg(value),
            Argument::F32(value) => call.arg(value),
        };
    }
    let config = LaunchConfig {
        grid_dim: (blocks, 1, 1),
        block_dim: (BLOCK, 1, 1),
        shared_mem_bytes: 0,
    };
    // SAFETY: the caller's promise.
    unsafe { call.launch(config) }.w()?;
    Ok(())
}
