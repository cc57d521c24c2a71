//! CPU and GPUs: choosing one, asking about it, waiting for it.
//!
//! A [`Device`] stores the elements of a tensor and computes with them. All tensors of an operation
//! must be on the same device.

mod backend;
mod cudnn;
mod errors;
mod gpu_info;
mod kernels;
#[cfg(any(feature = "cuda", test))]
mod memory;
mod tf32;
#[cfg(any(feature = "cuda", test))]
mod transfer;

pub(crate) use cudnn::{Convolution, Product, by_cudnn, lacks_cudnn};
#[doc(hidden)]
pub use errors::explain_gpu;
pub use gpu_info::{GpuInfo, NvidiaSmi, gpu_info, nvidia_smi};
#[cfg(feature = "cuda")]
pub(crate) use kernels::Keep;
#[cfg(any(feature = "cuda", feature = "testing", test))]
#[doc(hidden)]
pub use kernels::optimizer_step;
#[cfg(any(feature = "testing", test))]
#[doc(hidden)]
pub use kernels::testing;
pub(crate) use kernels::{
    AddBias, Windows, affine, combined, indices_of_maxima, of_patches, of_picked, of_sums, patches,
    picked, suits_kernels, sums,
};
pub use tf32::allow_tf32;
pub(crate) use tf32::in_tf32;
#[cfg(feature = "cuda")]
pub(crate) use transfer::between_cards;

use crate::error::{Problem, Result, refuse};
use candle_core::{Device, DeviceLocation};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Returns the CPU: all of its cores, and the main memory.
///
/// ```
/// use taper::prelude::*;
///
/// assert_eq!(cpu().label(), "cpu");
/// ```
pub fn cpu() -> Device {
    Device::Cpu
}

/// Returns the GPU with this index, counted from 0.
///
/// Every call returns the same device, so tensors of different cells can be combined.
///
/// # Errors
/// If this build has no GPU support, the driver does not answer, or there are fewer GPUs. The
/// message says which of these it is. [`try_gpu`] falls back to the CPU instead.
///
/// ```
/// use taper::prelude::*;
///
/// match gpu(0) {
///     Ok(device) => assert!(!device.is_cpu()),
///     Err(error) => println!("{error}"), // the reason, and what to do
/// }
/// ```
pub fn gpu(index: usize) -> Result<Device> {
    static OPENED: Mutex<BTreeMap<usize, Device>> = Mutex::new(BTreeMap::new());
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = opened.get(&index) {
        return Ok(device.clone());
    }
    match backend::count()? {
        0 => refuse!(gpu;
            "there is no GPU {index}: the driver reports none",
            "Use cpu(), or try_gpu({index}), which falls back to the CPU"),
        count if index >= count => refuse!(index("gpu", "GPU", index as i64, count);
            ("Use gpu({}), or a lower index", count - 1)),
        _ => {
            let device = backend::open(index)?;
            opened.insert(index, device.clone());
            Ok(device)
        }
    }
}

/// Returns how many GPUs this program can use; 0 if it was built without GPU support.
///
/// ```
/// use taper::prelude::*;
///
/// assert_eq!(num_gpus() == 0, gpu(0).is_err());
/// ```
pub fn num_gpus() -> usize {
    backend::count().unwrap_or(0)
}

/// Returns the GPU with this index if there is one, else the CPU.
///
/// ```
/// use taper::prelude::*;
///
/// let x = with_device(&try_gpu(0), || zeros((2, 3))); // runs on every machine
/// assert_eq!(x.device().is_cpu(), num_gpus() == 0);
/// ```
pub fn try_gpu(index: usize) -> Device {
    gpu(index).unwrap_or_else(|_| cpu())
}

/// Returns all GPUs, or the CPU alone if there is none; never empty.
///
/// ```
/// use taper::prelude::*;
///
/// assert_eq!(try_all_gpus().len(), num_gpus().max(1));
/// ```
pub fn try_all_gpus() -> Vec<Device> {
    let gpus: Vec<Device> = (0..num_gpus()).filter_map(|i| gpu(i).ok()).collect();
    if gpus.is_empty() { vec![cpu()] } else { gpus }
}

/// Returns the device with this name: `"cpu"`, `"cuda"`, `"cuda:1"`, `"gpu"`, `"gpu:1"` or
/// `"metal"`.
///
/// `"gpu"` is the kind of GPU that this build supports; without an index it is the first one.
///
/// # Errors
/// If the name has another form (the message lists those accepted), or as for [`gpu`].
///
/// ```
/// use taper::prelude::*;
///
/// assert_eq!(device("cpu")?.label(), "cpu");
/// assert!(device("abacus").is_err());
/// # Ok::<(), Error>(())
/// ```
pub fn device(name: &str) -> Result<Device> {
    let (kind, index) = match name.split_once(':') {
        Some((kind, number)) => (kind, number.parse().map_err(|_| unknown_device(name))?),
        None => (name, 0),
    };
    match (kind, index) {
        ("cpu", _) if name == "cpu" => Ok(cpu()),
        ("gpu", _) => gpu(index),
        ("cuda", _) | ("metal", 0) => {
            backend::require(kind)?;
            gpu(index)
        }
        _ => Err(unknown_device(name)),
    }
}

/// Waits until the device has finished all of its work.
///
/// A GPU works in the background: an operation returns before its result exists. The CPU does not, and
/// for it this function returns at once.
///
/// # Errors
/// If an earlier operation failed on the GPU.
///
/// ```
/// use taper::prelude::*;
///
/// let device = try_gpu(0);
/// let y = zeros((8, 8)).to_device(&device).exp();
/// synchronize(&device)?; // now y is computed
/// assert_eq!(y.mean_all().item(), 1.0);
/// # Ok::<(), Error>(())
/// ```
pub fn synchronize(device: &Device) -> Result<()> {
    Ok(device.synchronize()?)
}

fn unknown_device(name: &str) -> crate::error::Error {
    let known = ["cpu", "cuda", "cuda:1", "gpu", "gpu:1", "metal"];
    Problem::Name {
        kind: "device".to_owned(),
        name: name.to_owned(),
        known: known.map(str::to_owned).to_vec(),
    }
    .with_advice(r#"Write "cpu", "cuda", "cuda:1", "gpu", "gpu:1" or "metal""#)
}

/// Extends Candle's [`Device`].
pub trait DeviceExt {
    /// Returns the device's short name: `"cpu"`, `"cuda:0"`, `"metal:0"`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = ones(3);
    /// assert_eq!(x.device().label(), "cpu");
    /// ```
    fn label(&self) -> String;
}

impl DeviceExt for Device {
    fn label(&self) -> String {
        match self.location() {
            DeviceLocation::Cpu => "cpu".to_owned(),
            DeviceLocation::Cuda { gpu_id } => format!("cuda:{gpu_id}"),
            DeviceLocation::Metal { gpu_id } => format!("metal:{gpu_id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_or_refused_with_the_accepted_forms() {
        assert!(device("cpu").unwrap().is_cpu());
        for bad in ["", "tpu", "cpu:0", "cuda:", "cuda:x", "cuda:-1", "metal:1"] {
            let message = device(bad).unwrap_err().to_string();
            assert!(message.contains("\"cuda:1\""), "{bad}: {message}");
            assert_eq!(message.lines().count(), 2);
        }
    }

    #[test]
    fn a_missing_gpu_is_an_error_or_the_cpu() {
        let missing = num_gpus() + 10;
        let message = gpu(missing).unwrap_err().to_string();
        assert_eq!(message.lines().count(), 2, "{message}");
        assert!(try_gpu(missing).is_cpu());
    }

    #[test]
    fn a_gpu_is_always_the_same_instance() {
        for (i, device) in try_all_gpus().iter().enumerate() {
            assert!(device.same_device(&try_gpu(i)));
        }
    }

    #[cfg(not(any(feature = "cuda", feature = "metal")))]
    #[test]
    fn a_build_without_gpu_support_says_how_to_get_one() {
        for name in ["cuda", "gpu", "cuda:1", "gpu:1", "metal"] {
            let message = device(name).unwrap_err().to_string();
            assert!(message.contains("features = [\"cuda\"]"), "{message}");
        }
    }
}
