//! Counts the allocations of a cell that is profiled.
//!
//! To see the allocations of all libraries, this program defines the symbols of libc's allocator, as it does `write`
//! ([`order`](super::order)), and passes each call on. While no cell is profiled, that costs one look at a variable. On
//! systems where it is not possible, nothing is counted.

use taper_engine::Allocations;

static ALLOCATIONS: Allocations = Allocations::new();

/// Returns where allocations are counted, if they are.
pub(super) fn allocations() -> Option<&'static Allocations> {
    cfg!(all(target_os = "linux", target_env = "gnu")).then_some(&ALLOCATIONS)
}

/// Stops counting, because the cell that was profiled was left to its thread.
pub(super) fn stop() {
    ALLOCATIONS.stop();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod interpose {
    use super::ALLOCATIONS;
    use std::ffi::{c_int, c_void};

    // glibc's own names of the functions that are defined here.
    unsafe extern "C" {
        fn __libc_malloc(size: usize) -> *mut c_void;
        fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
        fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
        fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
        fn __libc_free(block: *mut c_void);
        fn malloc_usable_size(block: *mut c_void) -> usize;
    }

    fn count(block: *mut c_void) -> *mut c_void {
        if ALLOCATIONS.is_counting() && !block.is_null() {
            // SAFETY: the block was just allocated.
            ALLOCATIONS.add(unsafe { malloc_usable_size(block) });
        }
        block
    }

    fn count_free(block: *mut c_void) {
        if ALLOCATIONS.is_counting() && !block.is_null() {
            // SAFETY: the caller frees the block next.
            ALLOCATIONS.remove(unsafe { malloc_usable_size(block) });
        }
    }

    /// Replaces libc's `malloc`.
    ///
    /// # Safety
    ///
    /// There are no conditions: rustc knows the function by this type.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
        // SAFETY: the call has no conditions.
        count(unsafe { __libc_malloc(size) })
    }

    /// Replaces libc's `calloc`.
    ///
    /// # Safety
    ///
    /// As for `malloc`.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn calloc(number: usize, size: usize) -> *mut c_void {
        // SAFETY: the call has no conditions.
        count(unsafe { __libc_calloc(number, size) })
    }

    /// Replaces libc's `realloc`.
    ///
    /// # Safety
    ///
    /// As for `realloc(3)`: `block` is null or was allocated.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
        let before = match ALLOCATIONS.is_counting() && !block.is_null() {
            // SAFETY: the caller guarantees that the block was allocated.
            true => unsafe { malloc_usable_size(block) },
            false => 0,
        };
        // SAFETY: the caller guarantees what the call requires.
        let new = unsafe { __libc_realloc(block, size) };
        if before > 0 && (!new.is_null() || size == 0) {
            ALLOCATIONS.remove(before);
        }
        count(new)
    }

    /// Replaces libc's `posix_memalign`.
    ///
    /// # Safety
    ///
    /// As for `posix_memalign(3)`: the result can be written.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn posix_memalign(
        result: *mut *mut c_void,
        alignment: usize,
        size: usize,
    ) -> c_int {
        if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
            return libc::EINVAL;
        }
        let block = aligned_alloc(alignment, size);
        if block.is_null() {
            return libc::ENOMEM;
        }
        // SAFETY: the caller guarantees that it can be written.
        unsafe { *result = block };
        0
    }

    /// Replaces libc's `aligned_alloc`.
    #[unsafe(no_mangle)]
    extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
        // SAFETY: the call has no conditions.
        count(unsafe { __libc_memalign(alignment, size) })
    }

    /// Replaces libc's `free`.
    ///
    /// # Safety
    ///
    /// As for `free(3)`: `block` is null or was allocated.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn free(block: *mut c_void) {
        count_free(block);
        // SAFETY: the caller guarantees what the call requires.
        unsafe { __libc_free(block) }
    }
}
