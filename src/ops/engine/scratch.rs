//! Memory that a thread uses for a moment, and keeps for the next time.

use super::simd::Element;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;

/// More than this (in numbers) is given back at once.
const KEPT: usize = 1 << 22;

/// A line of the cache: the widest vector is as long, and reads one line if it begins with it.
const LINE: usize = 64;

thread_local! {
    static FREE: RefCell<HashMap<TypeId, Vec<Box<dyn Any>>>> = RefCell::default();
}

/// Calls `work` with `count` numbers from the beginning of a line of the cache on, of any value: zeros, or what earlier uses left.
pub(in crate::ops) fn with_scratch<T: Element, R>(
    count: usize,
    work: impl FnOnce(&mut [T]) -> R,
) -> R {
    let id = TypeId::of::<T>();
    let free = FREE.with_borrow_mut(|free| free.get_mut(&id).and_then(Vec::pop));
    let mut numbers = match free.and_then(|any| any.downcast::<Vec<T>>().ok()) {
        Some(numbers) => *numbers,
        None => Vec::new(),
    };
    if numbers.len() < count + LINE {
        numbers.resize(count + LINE, T::ZERO);
    }
    let skipped = numbers.as_ptr().align_offset(LINE).min(LINE);
    let result = work(&mut numbers[skipped..][..count]);
    if numbers.len() <= KEPT {
        FREE.with_borrow_mut(|free| free.entry(id).or_default().push(Box::new(numbers)));
    }
    result
}
