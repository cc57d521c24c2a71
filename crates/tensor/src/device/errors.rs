//! What the errors of NVIDIA's driver and libraries mean, and what to do about them.

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(any(feature = "cuda", test))]
mod meaning;

#[cfg(feature = "cuda")]
pub use cuda::explain_gpu;
#[cfg(feature = "cuda")]
pub(super) use cuda::explained;

/// Returns the result unchanged: a build without CUDA has no GPU errors to explain.
#[cfg(not(feature = "cuda"))]
#[doc(hidden)]
pub fn explain_gpu<T, E>(
    result: Result<T, E>,
    _device: &candle_core::Device,
    _requested: Option<usize>,
) -> Result<T, E> {
    result
}
