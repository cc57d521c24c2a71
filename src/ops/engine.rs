//! The code that the kernels of all operations share. It does not depend on any operation.
//!
//! The path of the data through a kernel, and the module that does each part:
//!
//! 1. [`autograd::has_kernel`] decides whether the kernels can compute with the given tensors.
//! 2. [`dispatch_dtype!`] calls the kernel for the element type: [`simd::Element`] is `f32` or `f64`.
//! 3. [`mod@read`] borrows the elements of inputs as slices ([`CpuView`]); [`strided`] makes a contiguous copy of an input
//!    that is not contiguous. [`lines`] divides them into the lines along a dimension.
//! 4. [`threads`] runs the kernel's tasks on all cores. [`mod@write`] lets each task write a chunk of the output, and
//!    [`shared_slice`] other disjoint parts; [`scratch`] lends each task temporary memory.
//! 5. Within a task, [`simd::multiversion!`] compiles a loop for each instruction set. The loops
//!    with explicit vectors are in [`microkernel`]; [`gemm`] builds the matrix product on them.
//!    [`sums`] adds values in an order that keeps their digits.
//! 6. [`autograd::record`] turns the output into a tensor and puts the backward pass on the [tape](crate::ops::tape). The
//!    backward pass of a linear operation is a closure: [`autograd::recorded_linear`].
//!
//! Operations that only move elements take all [types of tensors](autograd::can_move), with [`with_elements!`]. Most of them
//! are a [`strided`] copy or an [indexed](autograd::IndexedCopy) one.
//!
//! Work is split by the shapes alone, never by the number of threads, so the results do not depend
//! on the number of threads.

pub(super) mod autograd;
pub(super) mod buffer;
pub(super) mod gemm;
pub(super) mod lines;
mod memory;
pub(super) mod microkernel;
pub(super) mod read;
pub(super) mod runs;
pub(super) mod scratch;
pub(super) mod shared_slice;
pub(super) mod simd;
pub(super) mod strided;
pub(super) mod sums;
pub(super) mod threads;
pub(super) mod write;

use super::check::countable;
use crate::tensor::Raw;
use candle_core::{CpuStorage, Result, Storage, StorageRef, WithDType, bail};

/// Read access to the elements of a contiguous tensor on the CPU. The product of its sizes does not overflow, so
/// it is the number of elements that are in memory.
pub(super) struct CpuView<'a> {
    storage: StorageRef<'a>,
    start: usize,
    count: usize,
}

impl<'a> CpuView<'a> {
    pub(super) fn of(tensor: &'a Raw) -> Result<Self> {
        simd::check_setting()?;
        countable(&"kernel", tensor)?;
        let (storage, layout) = tensor.storage_and_layout();
        let Some((start, end)) = layout.contiguous_offsets() else {
            bail!(
                "kernel: expected a contiguous tensor, found strides {:?}",
                layout.stride()
            );
        };
        let count = end - start;
        Ok(CpuView {
            storage,
            start,
            count,
        })
    }

    /// Borrows the memory from the first to the last element of a tensor, which must not be empty.
    pub(super) fn of_strided(tensor: &'a Raw) -> Result<Self> {
        simd::check_setting()?;
        countable(&"kernel", tensor)?;
        let (storage, layout) = tensor.storage_and_layout();
        let steps = layout.dims().iter().zip(layout.stride());
        let last: usize = steps.map(|(size, step)| (size - 1) * step).sum();
        let start = layout.start_offset();
        Ok(CpuView {
            storage,
            start,
            count: last + 1,
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

/// Returns the number of elements in as many whole rows as have at most `most` elements, but at least one row.
pub(super) fn whole_rows(most: usize, row: usize) -> usize {
    (most / row).max(1) * row
}

/// Splits `count` into parts of at most `most` whose sizes differ by at most one.
pub(super) fn split_evenly(count: usize, most: usize) -> Vec<usize> {
    let parts = count.div_ceil(most);
    (0..parts)
        .map(|i| (i + 1) * count / parts - i * count / parts)
        .collect()
}
