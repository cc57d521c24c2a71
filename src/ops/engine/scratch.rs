//! Temporary memory that each thread keeps for reuse.

use super::simd::Element;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;

/// Buffers with more elements than this are freed after their use.
const LARGEST_KEPT: usize = 1 << 22;

/// The length of a cache line in bytes. The widest vector has the same length, so a vector at the
/// beginning of a line is read from one line only.
const CACHE_LINE: usize = 64;

thread_local! {
    /// The unused buffers of this thread, by element type. Ambient, because they outlive the call
    /// of a kernel: the threads are Candle's pool, which has no place for a kernel's data.
    static FREE: RefCell<HashMap<TypeId, Vec<Box<dyn Any>>>> = RefCell::default();
}

/// Calls `work` with `count` elements that begin at a cache line. Their values are unspecified:
/// zeros, or what an earlier use left.
pub(in crate::ops) fn with_scratch<T: Element, R>(
    count: usize,
    work: impl FnOnce(&mut [T]) -> R,
) -> R {
    let mut buffer: Vec<T> = take(count);
    let skipped = buffer.as_ptr().align_offset(CACHE_LINE).min(CACHE_LINE);
    let result = work(&mut buffer[skipped..][..count]);
    give_back(buffer);
    result
}

/// Returns a buffer in which `count` elements begin at a cache line.
fn take<T: Element>(count: usize) -> Vec<T> {
    let id = TypeId::of::<T>();
    let free = FREE.with_borrow_mut(|free| free.get_mut(&id).and_then(Vec::pop));
    let kept = free.and_then(|any| any.downcast::<Vec<T>>().ok());
    let mut buffer = kept.map_or_else(Vec::new, |buffer| *buffer);
    if buffer.len() < count + CACHE_LINE {
        buffer.resize(count + CACHE_LINE, T::ZERO);
    }
    buffer
}

fn give_back<T: Element>(buffer: Vec<T>) {
    if buffer.len() <= LARGEST_KEPT {
        let id = TypeId::of::<T>();
        FREE.with_borrow_mut(|free| free.entry(id).or_default().push(Box::new(buffer)));
    }
}
