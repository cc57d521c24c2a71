//! What the kernels are made of: vectors of the processor, the matrix product, threads, memory, and
//! the way gradients pass from kernel to kernel.
//!
//! Work is split by the shapes alone, never by the number of threads, so results do not depend on it.

pub(super) mod autograd;
pub(super) mod gemm;
mod memory;
pub(super) mod microkernel;
pub(super) mod scratch;
pub(super) mod shared;
pub(super) mod simd;
pub(super) mod threads;

use candle_core::{Result, Storage, StorageRef, Tensor, bail};
use shared::written;
use simd::Element;
use std::mem::MaybeUninit;
use threads::for_each_task;

/// The numbers of a contiguous tensor on the CPU.
pub(super) struct Numbers<'a> {
    storage: StorageRef<'a>,
    from: usize,
    count: usize,
}

impl<'a> Numbers<'a> {
    pub(super) fn of(tensor: &'a Tensor) -> Result<Self> {
        let (storage, layout) = tensor.storage_and_layout();
        let Some((from, to)) = layout.contiguous_offsets() else {
            bail!("a kernel was given a tensor that is not contiguous");
        };
        let count = to - from;
        Ok(Numbers {
            storage,
            from,
            count,
        })
    }

    pub(super) fn slice<T: Element>(&self) -> Result<&[T]> {
        match &*self.storage {
            Storage::Cpu(storage) => {
                Ok(&storage.as_slice::<T>()?[self.from..self.from + self.count])
            }
            _ => bail!("a kernel was given a tensor of a GPU"),
        }
    }
}

/// Calls a function for the type of a tensor's numbers.
macro_rules! for_type_of {
    ($tensor:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $tensor.dtype() {
            candle_core::DType::F32 => $function::<f32>($($argument),*),
            candle_core::DType::F64 => $function::<f64>($($argument),*),
            other => candle_core::bail!("no kernel computes in {other:?}"),
        }
    };
}
pub(super) use for_type_of;

/// A vector made in pieces of `piece` numbers, on all cores if there are several pieces.
///
/// # Safety
/// `work(first, out)` must write all of `out`, which begins at the number `first`.
pub(super) unsafe fn make<T: Element>(
    count: usize,
    piece: usize,
    work: impl Fn(usize, &mut [MaybeUninit<T>]) + Sync,
) -> Vec<T> {
    // SAFETY: the pieces cover all numbers, do not overlap, and `work` writes them.
    unsafe {
        written(count, |out| {
            for_each_task(count.div_ceil(piece), |i| {
                let (first, end) = (i * piece, ((i + 1) * piece).min(count));
                work(first, out.part(first, end - first));
            });
        })
    }
}

/// `count` in parts of at most `most`, none much smaller than the others.
pub(super) fn evenly(count: usize, most: usize) -> Vec<usize> {
    let parts = count.div_ceil(most);
    (0..parts)
        .map(|i| (i + 1) * count / parts - i * count / parts)
        .collect()
}

/// The sum in eight strands, which the compiler can make a vector of.
#[inline(always)]
pub(super) fn sum_of<T: Element>(numbers: &[T]) -> T {
    let mut sums = [T::ZERO; 8];
    let chunks = numbers.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *sum += *number;
        }
    }
    sums.into_iter().sum::<T>() + rest.iter().copied().sum::<T>()
}

/// The sum of products, in sixteen strands for the same reason.
#[inline(always)]
pub(super) fn dot<T: Element>(a: &[T], b: &[T]) -> T {
    let mut sums = [T::ZERO; 16];
    let done = a.len() / 16 * 16;
    for (a, b) in a.chunks_exact(16).zip(b.chunks_exact(16)) {
        for i in 0..16 {
            sums[i] += a[i] * b[i];
        }
    }
    let rest = a[done..].iter().zip(&b[done..]).map(|(a, b)| *a * *b);
    sums.into_iter().sum::<T>() + rest.sum::<T>()
}
