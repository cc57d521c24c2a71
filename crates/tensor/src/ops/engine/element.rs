//! The element types of tensors with which the kernels compute.

use candle_core::{CpuStorage, Result, WithDType, bail};
use taper_compute::simd::Float;

/// `f32` or `f64`, in a tensor.
pub(in crate::ops) trait Element: Float + WithDType {
    /// Returns the elements of a storage of this type.
    fn storage_slice_mut(storage: &mut CpuStorage) -> Result<&mut [Self]>;
}

macro_rules! element {
    ($float:ident, $storage:ident) => {
        impl Element for $float {
            fn storage_slice_mut(storage: &mut CpuStorage) -> Result<&mut [Self]> {
                match storage {
                    CpuStorage::$storage(values) => Ok(values),
                    _ => bail!("kernel: expected a storage of {}", stringify!($float)),
                }
            }
        }
    };
}

element!(f32, F32);
element!(f64, F64);
