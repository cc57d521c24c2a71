//! A slice of which several threads write disjoint parts.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Lends parts of a slice to tasks.
pub struct SharedSlice<'a, T> {
    start: *mut T,
    len: usize,
    memory: PhantomData<&'a mut [T]>,
}

impl<T> Clone for SharedSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SharedSlice<'_, T> {}

// SAFETY: like `&mut [T]`, it may move to another thread if `T` may. The memory is accessed only by
// `part` and `pointer`, whose callers promise that elements in use are not accessed in any other way.
unsafe impl<T: Send> Send for SharedSlice<'_, T> {}
// SAFETY: as for `Send`: a shared reference has no other access to the memory either.
unsafe impl<T: Send> Sync for SharedSlice<'_, T> {}

impl<'a, T> SharedSlice<'a, T> {
    /// Borrows a slice.
    #[inline(always)]
    pub fn new(memory: &'a mut [T]) -> Self {
        SharedSlice {
            start: memory.as_mut_ptr(),
            len: memory.len(),
            memory: PhantomData,
        }
    }

    /// Returns whether the slice has no elements.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns a pointer to the element at index `first`, through which the elements before index `end` may be
    /// accessed.
    ///
    /// # Panics
    /// If these elements are not within the slice.
    ///
    /// # Safety
    /// While an element is accessed through the pointer, it must not be accessed in any other way.
    #[inline(always)]
    pub unsafe fn pointer(self, first: usize, end: usize) -> *mut T {
        assert!(
            first <= end && end <= self.len,
            "a part of a shared slice ends outside it"
        );
        // SAFETY: the element lies within the slice, or at its end.
        unsafe { self.start.add(first) }
    }

    /// Returns the `count` elements from index `first` on.
    ///
    /// # Panics
    /// If these elements are not within the slice.
    ///
    /// # Safety
    /// While the part is in use, no element of it may be accessed in any other way.
    #[inline(always)]
    pub unsafe fn part(self, first: usize, count: usize) -> &'a mut [T] {
        let inside = first <= self.len && count <= self.len - first;
        assert!(inside, "a part of a shared slice ends outside it");
        // SAFETY: the part lies within the slice, which is borrowed for `'a`; the caller promises
        // exclusive access.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(first), count) }
    }
}

/// Returns a vector of `count` values, which `write` puts into its memory.
///
/// # Safety
/// `write` must initialise all of them.
pub unsafe fn vec_filled_by<T>(
    count: usize,
    write: impl FnOnce(SharedSlice<MaybeUninit<T>>),
) -> Vec<T> {
    let mut values = Vec::with_capacity(count);
    write(SharedSlice::new(&mut values.spare_capacity_mut()[..count]));
    // SAFETY: the capacity is at least `count`, and the caller promises that `write` has
    // initialised the values. If `write` panics, this line is not reached.
    unsafe { values.set_len(count) };
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_outside_the_slice_panic() {
        let mut memory = [1, 2, 3];
        let shared = SharedSlice::new(&mut memory);
        for (first, count) in [(0, 4), (3, 1), (4, 0), (1, usize::MAX)] {
            // SAFETY: no other part is in use.
            let part = std::panic::catch_unwind(|| unsafe { shared.part(first, count) }.len());
            assert!(part.is_err(), "{first}, {count}");
            let end = first.saturating_add(count);
            // SAFETY: no element is accessed.
            let pointer =
                std::panic::catch_unwind(|| unsafe { shared.pointer(first, end) }.is_null());
            assert!(pointer.is_err(), "{first}, {end}");
        }
        // SAFETY: the two parts do not overlap.
        let (a, b) = unsafe { (shared.part(0, 1), shared.part(1, 2)) };
        (a[0], b[1]) = (5, 6);
        assert_eq!(memory, [5, 2, 6]);
    }
}
