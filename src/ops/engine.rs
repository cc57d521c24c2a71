//! Kernels for the CPU, where Candle's generic operations are slow: forward and backward, in `f32` and
//! `f64`, on all cores.
//!
//! Layers call one function for each operation, such as [`conv2d`], which gives `None` where the
//! kernel cannot be used (another device or type): then they compute with Candle's operations, which
//! are also what the tests compare with.
//!
//! Work is split by the shapes alone, never by the number of threads, so results do not depend on it.

mod activation;
mod batch_norm;
mod chain;
mod conv2d;
mod cross_entropy;
mod descent;
mod layer_norm;
mod linear;
mod memory;
mod parallel;
mod pool;
mod product;
mod scratch;
mod shared;
mod simd;
mod softmax;
#[cfg(test)]
pub(crate) mod testing;
mod tile;

pub(crate) use activation::{Activation, activation};
pub(crate) use batch_norm::{Normalized, batch_norm};
pub(crate) use conv2d::{Convolution, conv2d};
pub(crate) use cross_entropy::cross_entropy;
pub(crate) use descent::{Descent, Moments, adapt, descend};
pub(crate) use layer_norm::layer_norm;
pub(crate) use linear::linear;
pub(crate) use pool::{Pooling, Windows, pool2d};
pub(crate) use softmax::softmax;

use candle_core::{Result, Storage, StorageRef, Tensor, bail};
use parallel::for_each_task;
use shared::written;
use simd::Element;
use std::mem::MaybeUninit;

/// The numbers of a contiguous tensor on the CPU.
struct Numbers<'a> {
    storage: StorageRef<'a>,
    from: usize,
    count: usize,
}

impl<'a> Numbers<'a> {
    fn of(tensor: &'a Tensor) -> Result<Self> {
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

    fn slice<T: Element>(&self) -> Result<&[T]> {
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
use for_type_of;

/// A vector made in pieces of `piece` numbers, on all cores if there are several pieces.
///
/// # Safety
/// `work(first, out)` must write all of `out`, which begins at the number `first`.
unsafe fn make<T: Element>(
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
fn evenly(count: usize, most: usize) -> Vec<usize> {
    let parts = count.div_ceil(most);
    (0..parts)
        .map(|i| (i + 1) * count / parts - i * count / parts)
        .collect()
}

/// The sum in eight strands, which the compiler can make a vector of.
#[inline(always)]
fn sum_of<T: Element>(numbers: &[T]) -> T {
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
fn dot<T: Element>(a: &[T], b: &[T]) -> T {
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
