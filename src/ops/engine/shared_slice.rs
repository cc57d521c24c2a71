//! Memory that several threads write, each its own part.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

pub(in crate::ops) struct Shared<'a, T> {
    start: *mut T,
    len: usize,
    memory: PhantomData<&'a mut [T]>,
}

impl<T> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<'_, T> {}

// SAFETY: it only hands out parts; those who take them promise to keep apart.
unsafe impl<T: Send> Send for Shared<'_, T> {}
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    pub(in crate::ops) fn new(memory: &'a mut [T]) -> Self {
        Shared {
            start: memory.as_mut_ptr(),
            len: memory.len(),
            memory: PhantomData,
        }
    }

    /// `count` numbers from `first` on, which must lie in the memory.
    ///
    /// # Safety
    /// As long as the part is used, nobody else uses a number of it.
    pub(in crate::ops) unsafe fn part(self, first: usize, count: usize) -> &'a mut [T] {
        let inside = first <= self.len && count <= self.len - first;
        assert!(inside, "a part of shared memory ends outside it");
        // SAFETY: it lies in the memory, which is borrowed for `'a`; the rest is promised.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(first), count) }
    }
}

/// A vector of `count` values, which `write` puts into its memory.
///
/// # Safety
/// `write` must write all of them.
pub(in crate::ops) unsafe fn written<T>(
    count: usize,
    write: impl FnOnce(Shared<MaybeUninit<T>>),
) -> Vec<T> {
    let mut values = Vec::with_capacity(count);
    write(Shared::new(&mut values.spare_capacity_mut()[..count]));
    // SAFETY: as promised; had `write` panicked, this would not be reached.
    unsafe { values.set_len(count) };
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stay_inside() {
        let mut memory = [1, 2, 3];
        let shared = Shared::new(&mut memory);
        for (first, count) in [(0, 4), (3, 1), (4, 0), (1, usize::MAX)] {
            // SAFETY: nobody uses another part.
            let part = std::panic::catch_unwind(|| unsafe { shared.part(first, count) }.len());
            assert!(part.is_err(), "{first}, {count}");
        }
        // SAFETY: the parts lie apart.
        let (a, b) = unsafe { (shared.part(0, 1), shared.part(1, 2)) };
        (a[0], b[1]) = (5, 6);
        assert_eq!(memory, [5, 2, 6]);
    }
}
