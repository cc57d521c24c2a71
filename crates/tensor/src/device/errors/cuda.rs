//! Maps the errors of Candle and cudarc to their [`Meaning`].

use super::meaning::Meaning;
use crate::device::memory::memory;
use candle_core::cuda_backend::CudaError;
use candle_core::cuda_backend::cudarc::cublas::sys::cublasStatus_t;
use candle_core::cuda_backend::cudarc::curand::sys::curandStatus_t;
use candle_core::cuda_backend::cudarc::driver::DriverError;
use candle_core::cuda_backend::cudarc::driver::sys::CUresult;
use candle_core::{Device, Error};

/// Replaces a GPU's errors by explained ones; other errors pass through. `requested` is the number of bytes
/// that the operation needs on the device, where that is known.
pub fn explain_gpu<T, E>(
    result: Result<T, E>,
    device: &Device,
    requested: Option<usize>,
) -> Result<T, E>
where
    E: From<Error> + Into<Error>,
{
    result.map_err(|error| {
        let error = error.into();
        let explained = match meaning_of(&error) {
            Some(meaning) => meaning.to_error(requested, || memory(device)).into(),
            None => error,
        };
        explained.into()
    })
}

/// Returns the explained error of a call of the driver; `None` if the error is not a known one.
pub(in crate::device) fn explained(error: DriverError) -> Option<crate::error::Error> {
    Some(of_driver(error)?.to_error(None, || None))
}

fn meaning_of(error: &Error) -> Option<Meaning> {
    match error {
        Error::Cuda(error) => match error.downcast_ref::<CudaError>() {
            Some(error) => of_candle(error),
            // Only an operation without a CUDA kernel returns a plain message here.
            None => Some(Meaning::UnsupportedOperation),
        },
        Error::Context { inner, .. }
        | Error::WithPath { inner, .. }
        | Error::WithBacktrace { inner, .. } => meaning_of(inner),
        error => of_cudnn(error),
    }
}

fn of_candle(error: &CudaError) -> Option<Meaning> {
    match error {
        CudaError::Cuda(error) | CudaError::Load { cuda: error, .. } => of_driver(*error),
        CudaError::Cublas(error) => match error.0 {
            cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED => Some(Meaning::OutOfMemory),
            cublasStatus_t::CUBLAS_STATUS_NOT_INITIALIZED => Some(Meaning::NoCublas),
            _ => None,
        },
        CudaError::Curand(error) => match error.0 {
            curandStatus_t::CURAND_STATUS_ALLOCATION_FAILED => Some(Meaning::OutOfMemory),
            _ => Some(Meaning::NoCurand),
        },
        _ => None,
    }
}

fn of_driver(error: DriverError) -> Option<Meaning> {
    Some(match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Meaning::OutOfMemory,
        CUresult::CUDA_ERROR_STUB_LIBRARY => Meaning::NoDriver,
        CUresult::CUDA_ERROR_NO_DEVICE => Meaning::NoDevice,
        CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE => Meaning::DeviceInUse,
        CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => Meaning::OldDriver,
        CUresult::CUDA_ERROR_NOT_SUPPORTED => Meaning::NotSupported,
        CUresult::CUDA_ERROR_INVALID_PTX => Meaning::OldGpu,
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => Meaning::OtherGpu,
        CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => Meaning::DriverMismatch,
        CUresult::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE => Meaning::Compatibility,
        CUresult::CUDA_ERROR_SYSTEM_NOT_READY => Meaning::NotReady,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS => Meaning::IllegalAddress,
        CUresult::CUDA_ERROR_ASSERT => Meaning::Assert,
        CUresult::CUDA_ERROR_NOT_FOUND => Meaning::NoKernel,
        CUresult::CUDA_ERROR_INVALID_VALUE => Meaning::InvalidLaunch,
        CUresult::CUDA_ERROR_UNKNOWN => Meaning::Unknown,
        _ => return None,
    })
}

/// Returns the meaning of an error of cuDNN, of which Candle keeps only the displayed text.
#[cfg(feature = "cudnn")]
fn of_cudnn(error: &Error) -> Option<Meaning> {
    use candle_core::cuda_backend::cudarc::cudnn::CudnnError;
    use candle_core::cuda_backend::cudarc::cudnn::sys::cudnnStatus_t;

    let Error::Wrapped(error) = error else {
        return None;
    };
    let said = error.to_string();
    let is = |status: cudnnStatus_t| CudnnError(status).to_string() == said;
    if is(cudnnStatus_t::CUDNN_STATUS_ALLOC_FAILED) {
        return Some(Meaning::OutOfMemory);
    }
    is(cudnnStatus_t::CUDNN_STATUS_NOT_INITIALIZED).then_some(Meaning::NoCudnn)
}

#[cfg(not(feature = "cudnn"))]
fn of_cudnn(_error: &Error) -> Option<Meaning> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error;
    use candle_core::Result;

    fn text(error: impl Into<CudaError>) -> String {
        let error: Result<()> = Err(Error::from(error.into()));
        explain_gpu(error, &Device::Cpu, None)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn errors_of_the_driver_and_its_libraries_become_two_lines() {
        let driver = |code| text(DriverError(code));
        for (text, begin) in [
            (
                driver(CUresult::CUDA_ERROR_NO_DEVICE),
                "no GPU can be used: the NVIDIA driver finds none",
            ),
            (
                driver(CUresult::CUDA_ERROR_OUT_OF_MEMORY),
                "the GPU is out of memory",
            ),
            (
                driver(CUresult::CUDA_ERROR_INVALID_VALUE),
                "a kernel on the GPU cannot be started",
            ),
            (
                text(CudaError::Load {
                    cuda: DriverError(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION),
                    module_name: "affine".to_owned(),
                }),
                "the NVIDIA driver is too old",
            ),
        ] {
            assert!(text.starts_with(begin), "{text}");
        }
        let none: Result<()> = Err(Error::Cuda("no cuda implementation for rotary-emb".into()));
        let none = explain_gpu(none, &Device::Cpu, None).unwrap_err();
        assert!(
            none.to_string()
                .starts_with("this operation is not implemented")
        );
    }

    #[cfg(feature = "cudnn")]
    #[test]
    fn a_missing_cudnn_becomes_two_lines() {
        use candle_core::cuda_backend::cudarc::cudnn::CudnnError;
        use candle_core::cuda_backend::cudarc::cudnn::sys::cudnnStatus_t;

        let missing = CudnnError(cudnnStatus_t::CUDNN_STATUS_NOT_INITIALIZED);
        let error: Result<()> = Err(Error::wrap(missing));
        let error = explain_gpu(error, &Device::Cpu, None).unwrap_err();
        let begin = "cuDNN, which computes convolutions of Candle's layers on the GPU";
        assert!(error.to_string().starts_with(begin), "{error}");
    }

    #[test]
    fn other_errors_pass_through() {
        let text = "shape mismatch in matmul, lhs: [2, 3], rhs: [2, 3]";
        let error: Result<()> = explain_gpu(Err(Error::Msg(text.to_owned())), &Device::Cpu, None);
        assert_eq!(error.unwrap_err().to_string(), text);
        let ours: crate::error::Result<()> = Err(error::gpu("CUDA_ERROR_NO_DEVICE", "Try this"));
        let ours = explain_gpu(ours, &Device::Cpu, None).unwrap_err();
        assert_eq!(ours.to_string(), "CUDA_ERROR_NO_DEVICE\nTry this");
    }
}
