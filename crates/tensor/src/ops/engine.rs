//! What brings tensors to the kernels, which compute on slices with the crate `taper_compute`. It does not depend on any
//! operation.
//!
//! The path of the data through a kernel, and the module that does each part:
//!
//! 1. [`autograd::has_kernel`] decides whether the kernels can compute with the given tensors.
//! 2. [`dispatch_dtype!`] calls the kernel for the element type: [`Element`] is `f32` or `f64`.
//! 3. [`mod@read`] borrows the elements of inputs as slices ([`CpuView`]); [`strided`] makes a contiguous copy of an input
//!    that is not contiguous.
//! 4. The kernel computes the output in tasks on all cores, with the processor's vectors (`taper_compute`).
//! 5. [`autograd::record`] turns the output into a tensor and puts the backward pass on the [tape](crate::ops::tape). The
//!    backward pass of a linear operation is a closure: [`autograd::recorded_linear`].
//!
//! Operations that only move elements take all [types of tensors](autograd::can_move), with [`with_elements!`]. Most of them
//! are a [`strided`] copy or an [indexed](autograd::IndexedCopy) one.

pub(super) mod autograd;
pub(super) mod buffer;
mod element;
mod memory;
pub(super) mod read;
pub(super) mod strided;

pub(super) use element::Element;

use super::check::countable;
use crate::error::problem;
use crate::tensor::Raw;
use candle_core::{CpuStorage, Error, Result, Storage, StorageRef, WithDType, bail};
use taper_compute::simd;

/// Read access to the elements of a contiguous tensor on the CPU. The product of its sizes does not overflow, so
/// it is the number of elements that are in memory.
pub(super) struct CpuView<'a> {
    storage: StorageRef<'a>,
    start: usize,
    count: usize,
}

impl<'a> CpuView<'a> {
    pub(super) fn of(tensor: &'a Raw) -> Result<Self> {
        if !tensor.is_contiguous() {
            let strides = tensor.stride();
            bail!("kernel: expected a contiguous tensor, found strides {strides:?}");
        }
        Self::of_strided(tensor)
    }

    /// Borrows the memory from the first to the last element of a tensor.
    pub(super) fn of_strided(tensor: &'a Raw) -> Result<Self> {
        check_setting()?;
        countable(&"kernel", tensor)?;
        let (storage, layout) = tensor.storage_and_layout();
        let mut steps = layout.dims().iter().zip(layout.stride());
        let count = steps.try_fold(1, |count, (size, step)| {
            Some(count + size.checked_sub(1)? * step)
        });
        Ok(CpuView {
            start: layout.start_offset(),
            count: count.unwrap_or(0),
            storage,
        })
    }

    pub(super) fn as_slice<T: WithDType>(&self) -> Result<&[T]> {
        Ok(self.part_of(self.storage()?.as_slice::<T>()?))
    }

    pub(super) fn storage(&self) -> Result<&CpuStorage> {
        match &*self.storage {
            Storage::Cpu(storage) => Ok(storage),
            _ => bail!("kernel: expected a tensor on the CPU, found one on a GPU"),
        }
    }

    /// Returns the elements of the view, from those of its storage.
    pub(super) fn part_of<'b, T>(&self, storage: &'b [T]) -> &'b [T] {
        match self.count {
            // An empty view may begin beyond the end of its storage.
            0 => &[],
            count => &storage[self.start..self.start + count],
        }
    }
}

/// Computes a result from the elements of a view as a slice, of any [type of tensors](autograd::can_move).
macro_rules! with_elements {
    ($view:expr, |$values:ident| $result:expr) => {
        with_elements!(@ $view, $values, $result, U8 U32 I64 BF16 F16 F32 F64)
    };
    (@ $view:expr, $values:ident, $result:expr, $($storage:ident)*) => {
        match $view.storage()? {
            $(candle_core::CpuStorage::$storage(storage) => {
                let $values = $view.part_of(storage);
                $result
            })*
            _ => candle_core::bail!("kernel: this type of elements is not supported"),
        }
    };
}
pub(super) use with_elements;

/// Calls a generic function with the element type of a tensor.
macro_rules! dispatch_dtype {
    ($tensor:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $tensor.dtype() {
            candle_core::DType::F32 => $function::<f32>($($argument),*),
            candle_core::DType::F64 => $function::<f64>($($argument),*),
            other => candle_core::bail!("kernel: expected f32 or f64, found {other:?}"),
        }
    };
}
pub(super) use dispatch_dtype;

/// Returns an error if `TAPER_SIMD` names no instruction set.
fn check_setting() -> Result<()> {
    simd::unknown_setting().map_or(Ok(()), |found| Err(unknown_setting(found)))
}

fn unknown_setting(found: &str) -> Error {
    problem!(argument("TAPER_SIMD", format_args!("{found:?}"));
        "`baseline`, `avx2` or `avx512`",
        "Unset the variable to use the best instructions of the processor, then restart")
    .into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_unknown_instruction_set_is_refused() {
        assert_eq!(
            super::unknown_setting("typo").to_string(),
            "TAPER_SIMD: expected `baseline`, `avx2` or `avx512`, found \"typo\"\n\
             Unset the variable to use the best instructions of the processor, then restart"
        );
    }
}
