//! Output that several threads write.

use std::marker::PhantomData;

/// The memory of a vector, for threads that write different parts of it.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a, T> {
    start: *mut T,
    memory: PhantomData<&'a mut [T]>,
}

// SAFETY: it only hands out pointers; those who write through them promise to keep apart.
unsafe impl<T: Send> Send for Shared<'_, T> {}
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    /// The memory that the vector has reserved, whether it has values yet or not.
    pub(super) fn new(vector: &'a mut Vec<T>) -> Self {
        Shared {
            start: vector.as_mut_ptr(),
            memory: PhantomData,
        }
    }

    /// Where the number `index` lies.
    ///
    /// # Safety
    /// The vector has room for it; what is written through the pointer, no other thread reads or writes.
    pub(super) unsafe fn at(self, index: usize) -> *mut T {
        // SAFETY: within the vector's memory, as promised.
        unsafe { self.start.add(index) }
    }
}
