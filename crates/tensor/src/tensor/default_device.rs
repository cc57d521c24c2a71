//! The device on which tensors are created.
//!
//! Functions such as [`zeros`](super::zeros) and [`rand`](super::rand) take no device. Rust has no optional
//! arguments, so each call would have to name one, and almost all would name the same one. They create tensors on
//! the default device instead, as PyTorch's functions do: the CPU, unless [`set_default_device`] or [`with_device`]
//! selects another. [`Tensor::to_device`](super::Tensor::to_device) moves a single tensor.

use super::context::{self, Field, Scope};
use candle_core::Device;
use std::sync::{PoisonError, RwLock};

/// The default device of all threads outside of [`with_device`].
static DEFAULT: RwLock<Device> = RwLock::new(Device::Cpu);

/// Sets the device on which tensors and layers are created from now on, on all threads; the CPU at first.
///
/// ```
/// use taper::prelude::*;
///
/// let device = try_gpu(0); // the first GPU, or the CPU where there is none
/// set_default_device(&device);
/// let net = Linear::new(3, 2); // on this device
/// let y = net.forward(&ones((4, 3))); // (4, 2), as well
/// assert_eq!(y.device().label(), device.label());
/// ```
pub fn set_default_device(device: &Device) {
    *DEFAULT.write().unwrap_or_else(PoisonError::into_inner) = device.clone();
}

/// Runs `work` with another default device on this thread: tensors and layers are created there. It is PyTorch's
/// `with torch.device(…)`.
///
/// ```
/// use taper::prelude::*;
///
/// let device = try_gpu(0); // the first GPU, or the CPU where there is none
/// let x = with_device(&device, || ones((2, 3))); // (2, 3)
/// assert_eq!(x.device().label(), device.label());
/// ```
pub fn with_device<T>(device: &Device, work: impl FnOnce() -> T) -> T {
    let _scope = scope(device);
    work()
}

/// Sets the default device of this thread until the scope is dropped.
#[inline(never)]
fn scope(device: &Device) -> Scope {
    Scope::new(Field::Device(Some(device.clone())))
}

/// Returns the device on which tensors and layers are created: the device of the innermost [`with_device`] on this
/// thread, or else the one of [`set_default_device`].
///
/// ```
/// use taper::prelude::*;
///
/// assert_eq!(default_device().label(), "cpu");
/// ```
pub fn default_device() -> Device {
    context::device().unwrap_or_else(|| {
        DEFAULT
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    })
}
