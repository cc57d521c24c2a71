//! What the errors of NVIDIA's driver and libraries mean, and what to do about them.

use super::memory::Memory;
use crate::error::explain;
use candle_core::{Device, Error, Result};

/// How an error is recognised, what it means, and what to do.
type Meaning = (&'static str, &'static str, &'static str);

/// The first one whose mark an error's text contains.
const MEANINGS: [Meaning; 17] = [
    (
        "CUDA_ERROR_STUB_LIBRARY",
        "no GPU can be used: there is no NVIDIA driver on this machine",
        "On a machine with an NVIDIA GPU, install its driver, 580 or newer; else use cpu(), or try_gpu(0)",
    ),
    (
        "CUDA_ERROR_NO_DEVICE",
        "no GPU can be used: the NVIDIA driver sees none",
        "See whether `nvidia-smi` lists one, and what the variable CUDA_VISIBLE_DEVICES leaves of them; or use cpu()",
    ),
    (
        "CUDA_ERROR_DEVICE_UNAVAILABLE",
        "this GPU is in use by another program, which keeps it for itself",
        "nvidia_smi()? shows the program; wait for its end, or use another GPU: gpu(1)?",
    ),
    (
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "the NVIDIA driver is too old for the kernels that Taper was built with",
        "Update the driver to 580 or newer, or run `cargo taper setup` again: it builds for the driver that is there",
    ),
    (
        "CUDA_ERROR_NOT_SUPPORTED",
        "the NVIDIA driver or this GPU does not know a function that is needed",
        "Update the driver to 580 or newer; `cargo taper doctor` shows the one that is there",
    ),
    (
        "CUDA_ERROR_INVALID_PTX",
        "Taper was built for newer GPUs than this one",
        "Run `cargo taper setup` again: it builds for the GPUs that are there",
    ),
    (
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "Taper was built for other GPUs than this one",
        "Run `cargo taper setup` again: it builds for the GPUs that are there",
    ),
    (
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "the parts of the NVIDIA driver are of different versions",
        "Restart the machine: this is usual after an update of the driver",
    ),
    (
        "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        "the NVIDIA driver's compatibility package does not work with this GPU",
        "Take /usr/local/cuda/compat out of LD_LIBRARY_PATH, and update the driver itself",
    ),
    (
        "CUDA_ERROR_SYSTEM_NOT_READY",
        "the NVIDIA driver is not ready",
        "Start the service nvidia-fabricmanager if the machine has NVSwitch; else wait a minute, or restart it",
    ),
    (
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "a kernel on the GPU touched memory that is not its own",
        "Restart the kernel: until then the GPU cannot be used. If it happens again, please report what it ran",
    ),
    (
        "CUDA_ERROR_ASSERT",
        "a kernel on the GPU met an index that is out of range",
        "Restart the kernel: until then the GPU cannot be used. Then run the cell on cpu(), which names the index",
    ),
    (
        "CUDA_ERROR_NOT_FOUND",
        "the GPU has no kernel for this operation on numbers of this type",
        "Convert first: x.to_dtype(DType::F32)?; or compute it on the CPU: x.to_device(&cpu())?",
    ),
    (
        "CUDA_ERROR_UNKNOWN",
        "the NVIDIA driver failed, and does not say why",
        "Run `nvidia-smi` in a terminal; if it fails too, restart the machine",
    ),
    (
        "CublasError(CUBLAS_STATUS_NOT_INITIALIZED",
        "cuBLAS, which multiplies matrices on the GPU, could not be started",
        "Look at the memory that is left, nvidia_smi()?; `cargo taper doctor` tells whether the library is there",
    ),
    (
        "CurandError(",
        "cuRAND, which comes with CUDA, could not be started",
        "`cargo taper doctor` tells whether the library is there; `cargo taper setup` installs it",
    ),
    (
        "no cuda implementation",
        "this operation cannot be done on a GPU",
        "Compute it on the CPU: x.to_device(&cpu())?",
    ),
];

/// Texts of errors that say that memory has run out.
const FULL: [&str; 4] = [
    "CUDA_ERROR_OUT_OF_MEMORY",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CURAND_STATUS_ALLOCATION_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
];

/// Makes a GPU's errors readable. `asked` is the number of bytes that the work needs on the device,
/// where that is known. Other errors pass through.
pub(crate) fn explain_gpu<T>(
    result: Result<T>,
    device: &Device,
    asked: Option<usize>,
) -> Result<T> {
    result.map_err(|error| explained(error, device, asked))
}

fn explained(error: Error, device: &Device, asked: Option<usize>) -> Error {
    let text = error.to_string();
    // Errors that have been explained already have two lines.
    let known = text.lines().count() == 1 || text.contains("backtrace");
    let memory = || super::memory::memory(device);
    let meaning = known.then(|| meaning(&text, asked, memory)).flatten();
    meaning.unwrap_or(error)
}

/// The error in our words, if its text is that of a GPU's.
pub(super) fn meaning(
    text: &str,
    asked: Option<usize>,
    memory: impl FnOnce() -> Option<Memory>,
) -> Option<Error> {
    if FULL.iter().any(|mark| text.contains(mark)) {
        return Some(full(asked, memory()));
    }
    let (_, what, what_to_do) = MEANINGS.iter().find(|(mark, ..)| text.contains(mark))?;
    Some(explain(what, what_to_do))
}

fn full(asked: Option<usize>, memory: Option<Memory>) -> Error {
    let asked = asked.map(|bytes| format!("{} were asked for", readable(bytes)));
    let left = memory.map(|Memory { free, total }| {
        format!("{} of {} are free", readable(free), readable(total))
    });
    let numbers: Vec<String> = asked.into_iter().chain(left).collect();
    let numbers = match numbers.is_empty() {
        true => String::new(),
        false => format!(": {}", numbers.join(", ")),
    };
    explain(
        format!("the GPU has not enough memory{numbers}"),
        "Take smaller batches or a smaller model; let go of tensors of earlier cells, drop(x), or restart the kernel; \
         nvidia_smi()? shows what other programs hold",
    )
}

fn readable(bytes: usize) -> String {
    const GIB: f64 = (1u64 << 30) as f64;
    const MIB: f64 = (1u64 << 20) as f64;
    match bytes as f64 {
        bytes if bytes >= 0.1 * GIB => format!("{:.1} GiB", bytes / GIB),
        bytes => format!("{:.1} MiB", bytes / MIB),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(text: &str) -> String {
        let error = meaning(text, None, || None);
        error
            .unwrap_or_else(|| panic!("{text} has a meaning"))
            .to_string()
    }

    /// As the bindings write them: the code, and the driver's own words.
    #[test]
    fn errors_of_the_driver_become_two_lines() {
        for (text, begin) in [
            (
                r#"DriverError(CUDA_ERROR_STUB_LIBRARY, "<Failure when calling cuGetErrorString()>")"#,
                "no GPU can be used: there is no NVIDIA driver",
            ),
            (
                r#"DriverError(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")"#,
                "no GPU can be used: the NVIDIA driver sees none",
            ),
            (
                r#"DriverError(CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable")"#,
                "this GPU is in use by another program",
            ),
            (
                r#"DriverError(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain.") when loading affine"#,
                "the NVIDIA driver is too old",
            ),
            (
                r#"DriverError(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "system has unsupported display driver / cuda driver combination")"#,
                "the parts of the NVIDIA driver are of different versions",
            ),
            (
                r#"DriverError(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device")"#,
                "Taper was built for other GPUs",
            ),
            (
                r#"DriverError(CUDA_ERROR_ASSERT, "device-side assert triggered")"#,
                "a kernel on the GPU met an index",
            ),
            (
                r#"DriverError(CUDA_ERROR_NOT_FOUND, "named symbol not found")"#,
                "the GPU has no kernel",
            ),
            (
                "CublasError(CUBLAS_STATUS_NOT_INITIALIZED)",
                "cuBLAS, which multiplies matrices",
            ),
            (
                "CurandError(CURAND_STATUS_INITIALIZATION_FAILED)",
                "cuRAND, which comes with CUDA",
            ),
            (
                "no cuda implementation for rotary-emb",
                "this operation cannot be done on a GPU",
            ),
        ] {
            let explained = explained(text);
            assert!(explained.starts_with(begin), "{text}:\n{explained}");
            assert_eq!(explained.lines().count(), 2, "{explained}");
        }
    }

    #[test]
    fn a_full_memory_is_told_in_numbers() {
        let text = r#"DriverError(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")"#;
        let memory = Some(Memory {
            free: 3 << 28,
            total: 24 << 30,
        });
        let told = |asked, memory| meaning(text, asked, || memory).unwrap().to_string();
        let numbers = ": 2.0 GiB were asked for, 0.8 GiB of 24.0 GiB are free\n";
        assert!(told(Some(2 << 30), memory).contains(numbers));
        assert!(told(Some(3 << 20), None).contains(": 3.0 MiB were asked for\n"));
        assert!(told(None, memory).contains(": 0.8 GiB of 24.0 GiB are free\n"));
        assert!(told(None, None).starts_with("the GPU has not enough memory\nTake smaller"));
        assert!(explained("CublasError(CUBLAS_STATUS_ALLOC_FAILED)").contains("memory"));
    }

    #[test]
    fn other_errors_pass_through() {
        let text = "shape mismatch in matmul, lhs: [2, 3], rhs: [2, 3]";
        let error: Result<()> = explain_gpu(Err(Error::Msg(text.to_owned())), &Device::Cpu, None);
        assert_eq!(error.unwrap_err().to_string(), text);
        let ours: Result<()> = Err(explain("CUDA_ERROR_NO_DEVICE", "Try this"));
        let ours = explain_gpu(ours, &Device::Cpu, None).unwrap_err();
        assert_eq!(ours.to_string(), "CUDA_ERROR_NO_DEVICE\nTry this");
    }
}
