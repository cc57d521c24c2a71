//! The errors of a GPU, in the words that users see.

use crate::device::memory::Memory;
use crate::error::{self, Error, Problem};

/// The meaning of an error of the driver or one of its libraries.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    OutOfMemory,
    NoDriver,
    NoDevice,
    DeviceInUse,
    OldDriver,
    NotSupported,
    OldGpu,
    OtherGpu,
    DriverMismatch,
    Compatibility,
    NotReady,
    IllegalAddress,
    Assert,
    NoKernel,
    InvalidLaunch,
    Unknown,
    NoCublas,
    NoCurand,
    NoCudnn,
    UnsupportedOperation,
}

impl Meaning {
    /// Returns the error that users see. `memory` is called only if the GPU is out of memory.
    pub(super) fn to_error(
        self,
        requested: Option<usize>,
        memory: impl FnOnce() -> Option<Memory>,
    ) -> Error {
        let (problem, advice) = self.lines();
        match self {
            Self::OutOfMemory => Problem::OutOfMemory {
                requested,
                available: memory().map(|Memory { free, total }| (free, total)),
            }
            .with_advice(advice),
            _ => error::gpu(problem, advice),
        }
    }

    /// Returns the problem and the advice.
    fn lines(self) -> (&'static str, &'static str) {
        match self {
            Self::OutOfMemory => (
                "the GPU is out of memory",
                "Use smaller batches or a smaller model; free tensors of earlier cells with drop(x), or restart the \
                 notebook's kernel; nvidia_smi()? shows what other programs use",
            ),
            Self::NoDriver => (
                "no GPU can be used: there is no NVIDIA driver on this machine",
                "On a machine with an NVIDIA GPU, install its driver, 580 or newer; otherwise use cpu(), or try_gpu(0)",
            ),
            Self::NoDevice => (
                "no GPU can be used: the NVIDIA driver finds none",
                "Check whether `nvidia-smi` lists one and whether the variable CUDA_VISIBLE_DEVICES hides it; or use cpu()",
            ),
            Self::DeviceInUse => (
                "another program is using this GPU exclusively",
                "nvidia_smi()? shows the program; wait until it ends, or use another GPU: gpu(1)?",
            ),
            Self::OldDriver => (
                "the NVIDIA driver is too old for the kernels that Taper was built with",
                "Update the driver to 580 or newer, or run `cargo taper setup` again: it builds for the installed driver",
            ),
            Self::NotSupported => (
                "the NVIDIA driver or this GPU does not support a function that is needed",
                "Update the driver to 580 or newer; `cargo taper doctor` shows the installed version",
            ),
            Self::OldGpu => (
                "Taper was built for newer GPUs than this one",
                "Run `cargo taper setup` again: it builds for the GPUs of this machine",
            ),
            Self::OtherGpu => (
                "Taper was built for other GPUs than this one",
                "Run `cargo taper setup` again: it builds for the GPUs of this machine",
            ),
            Self::DriverMismatch => (
                "the parts of the NVIDIA driver are of different versions",
                "Restart the machine: this is usual after an update of the driver",
            ),
            Self::Compatibility => (
                "the NVIDIA driver's compatibility package does not work with this GPU",
                "Remove /usr/local/cuda/compat from LD_LIBRARY_PATH, and update the driver itself",
            ),
            Self::NotReady => (
                "the NVIDIA driver is not ready",
                "Start the service nvidia-fabricmanager if the machine has NVSwitch; else wait a minute, or restart it",
            ),
            Self::IllegalAddress => (
                "a kernel on the GPU accessed memory outside its allocation",
                "Restart the notebook's kernel: until then the GPU cannot be used. If it happens again, please report the operation",
            ),
            Self::Assert => (
                "an index in a kernel on the GPU is out of range",
                "Restart the notebook's kernel: until then the GPU cannot be used. Then run the cell on cpu(), which names the index",
            ),
            Self::NoKernel => (
                "the GPU has no kernel for this operation on this element type",
                "Convert first: x.to_dtype(DType::F32); or compute it on the CPU: x.to_device(&cpu())",
            ),
            Self::InvalidLaunch => (
                "a kernel on the GPU cannot be started for these sizes",
                "A tensor without elements cannot be computed on a GPU: leave out empty batches, or use cpu()",
            ),
            Self::Unknown => (
                "the NVIDIA driver failed without a reason",
                "Run `nvidia-smi` in a terminal; if it fails too, restart the machine",
            ),
            Self::NoCublas => (
                "cuBLAS, which multiplies matrices on the GPU, could not be started",
                "Check the free memory with nvidia_smi()?; `cargo taper doctor` says whether the library is installed",
            ),
            Self::NoCurand => (
                "cuRAND, which comes with CUDA, could not be started",
                "`cargo taper doctor` says whether the library is installed; `cargo taper setup` installs it",
            ),
            Self::NoCudnn => (
                "cuDNN, which computes convolutions of Candle's layers on the GPU, could not be started",
                "Use Taper's layers, such as Conv2d, which do without it; `cargo taper doctor` says whether it is installed",
            ),
            Self::UnsupportedOperation => (
                "this operation is not implemented for GPUs",
                "Compute it on the CPU: x.to_device(&cpu())",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(Meaning, &str); 20] = [
        (Meaning::OutOfMemory, "out of memory"),
        (Meaning::NoDriver, "there is no NVIDIA driver"),
        (Meaning::NoDevice, "driver finds none"),
        (Meaning::DeviceInUse, "exclusively"),
        (Meaning::OldDriver, "driver is too old"),
        (Meaning::NotSupported, "does not support a function"),
        (Meaning::OldGpu, "for newer GPUs"),
        (Meaning::OtherGpu, "for other GPUs"),
        (Meaning::DriverMismatch, "of different versions"),
        (Meaning::Compatibility, "compatibility package"),
        (Meaning::NotReady, "is not ready"),
        (Meaning::IllegalAddress, "outside its allocation"),
        (Meaning::Assert, "out of range"),
        (Meaning::NoKernel, "no kernel"),
        (Meaning::InvalidLaunch, "cannot be started"),
        (Meaning::Unknown, "without a reason"),
        (Meaning::NoCublas, "cuBLAS"),
        (Meaning::NoCurand, "cuRAND"),
        (Meaning::NoCudnn, "cuDNN"),
        (Meaning::UnsupportedOperation, "not implemented for GPUs"),
    ];

    #[test]
    fn every_meaning_has_two_lines_of_its_own() {
        assert_eq!(ALL.len(), Meaning::UnsupportedOperation as usize + 1);
        let mut seen = std::collections::HashSet::new();
        for (i, (meaning, says)) in ALL.into_iter().enumerate() {
            assert_eq!(meaning as usize, i, "{meaning:?}");
            let text = meaning.to_error(None, || None).to_string();
            let lines: Vec<&str> = text.lines().collect();
            let [problem, advice] = lines[..] else {
                panic!("{text}");
            };
            assert!(problem.contains(says), "{text}");
            assert!(!advice.is_empty(), "{text}");
            assert!(seen.insert(problem.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_full_memory_says_how_much_was_requested_and_how_much_is_free() {
        let memory = Memory {
            free: 3 << 28,
            total: 24 << 30,
        };
        let text = |requested, memory| {
            let error = Meaning::OutOfMemory.to_error(requested, || memory);
            error.to_string()
        };
        let sizes = ": requested 2.0 GiB, 0.8 GiB of 24.0 GiB are free\n";
        assert!(text(Some(2 << 30), Some(memory)).contains(sizes));
        assert!(text(Some(3 << 20), None).contains(": requested 3.0 MiB\n"));
        assert!(text(None, Some(memory)).contains(": 0.8 GiB of 24.0 GiB are free\n"));
        assert!(text(None, None).starts_with("the GPU is out of memory\nUse smaller"));
    }
}
