//! Temporary memory that each thread keeps for reuse.

use crate::simd::Float;
use std::any::Any;
use std::cell::RefCell;

/// Buffers with more elements than this are freed after their use.
const LARGEST_KEPT: usize = 1 << 22;

/// The length of a cache line in bytes. The widest vector has the same length, so a vector at the
/// beginning of a line is read from one line only.
const CACHE_LINE: usize = 64;

thread_local! {
    /// The unused buffers of this thread: for each element type a vector of vectors. Ambient, because they outlive the
    /// call of a kernel: the threads are Candle's pool, which has no place for a kernel's data.
    static FREE: RefCell<Vec<Box<dyn Any>>> = RefCell::default();
}

/// Calls `work` with `count` elements that begin at a cache line. Their values are unspecified:
/// zeros, or what an earlier use left.
pub fn with_scratch<T: Float, R>(count: usize, work: impl FnOnce(&mut [T]) -> R) -> R {
    let mut buffer: Vec<T> = take(count);
    let skipped = buffer.as_ptr().align_offset(CACHE_LINE).min(CACHE_LINE);
    let result = work(&mut buffer[skipped..][..count]);
    give_back(buffer);
    result
}

/// Returns a buffer in which `count` elements begin at a cache line.
fn take<T: Float>(count: usize) -> Vec<T> {
    let mut buffer = with_free(|free: &mut Vec<Vec<T>>| free.pop().unwrap_or_default());
    if buffer.len() < count + CACHE_LINE {
        buffer.resize(count + CACHE_LINE, T::ZERO);
    }
    buffer
}

fn give_back<T: Float>(buffer: Vec<T>) {
    if buffer.len() <= LARGEST_KEPT {
        with_free(|free| free.push(buffer));
    }
}

/// Calls `work` with the unused buffers of an element type. There are so few types that a search is faster than a hash.
fn with_free<T: Float, R>(work: impl FnOnce(&mut Vec<Vec<T>>) -> R) -> R {
    FREE.with_borrow_mut(|free| {
        let found = free.iter().position(|any| any.is::<Vec<Vec<T>>>());
        let at = found.unwrap_or_else(|| {
            free.push(Box::new(Vec::<Vec<T>>::new()));
            free.len() - 1
        });
        work(free[at].downcast_mut().expect("found by its type"))
    })
}
