//! The cells to which threads belong: what a thread prints goes to the cell that has started it, also when that has ended.
//!
//! To see every new thread, this program defines the symbol `pthread_create`, as it does `write` ([`order`](super::order)).
//! A thread that the code of a cell has created belongs to the cell of its creator. The threads of a package, such as those
//! of a pool, work for whichever cell runs and belong to none: what they print is output of the cell that runs, or of the
//! last cell. So is everything on systems where the symbol cannot be defined.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// The cell that runs, as the engine counts evaluations; 0 if none does.
static RUNNING: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The cell that has started this thread; 0 if none has.
    static CELL: Cell<u32> = const { Cell::new(0) };
}

/// Notes that a cell begins.
pub(super) fn begin_cell(cell: u32) {
    RUNNING.store(cell, Ordering::Relaxed);
}

/// Notes that the cell has ended.
pub(super) fn end_cell() {
    RUNNING.store(0, Ordering::Relaxed);
}

/// Returns the cell that has started the calling thread.
pub(super) fn cell_of_this() -> Option<u32> {
    Some(CELL.get()).filter(|cell| *cell != 0)
}

/// Returns the cell that has started the calling thread, if it is not the one that runs.
pub(super) fn earlier_cell_of_this() -> Option<u32> {
    cell_of_this().filter(|cell| *cell != RUNNING.load(Ordering::Relaxed))
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod interpose {
    use super::{CELL, RUNNING};
    use crate::cells::real::Real;
    use crate::cells::{callers, stop};
    use std::ffi::{c_int, c_void};
    use std::sync::atomic::Ordering;

    /// What a thread begins with. A thread may end by unwinding.
    type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

    /// What a thread of a cell begins with.
    struct Begin {
        cell: u32,
        start: Start,
        argument: *mut c_void,
    }

    /// Replaces libc's `pthread_create`.
    ///
    /// # Safety
    ///
    /// As for `pthread_create(3)`.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: Start,
        argument: *mut c_void,
    ) -> c_int {
        static REAL: Real = Real::new(c"pthread_create");
        type Create = unsafe extern "C" fn(
            *mut libc::pthread_t,
            *const libc::pthread_attr_t,
            Start,
            *mut c_void,
        ) -> c_int;
        // SAFETY: the function has this type.
        let create: Create = unsafe { std::mem::transmute(REAL.address()) };
        let cell = match stop::is_cell_thread() {
            true => RUNNING.load(Ordering::Relaxed),
            false => CELL.get(),
        };
        if cell == 0 || !callers::is_cell() {
            // SAFETY: the caller guarantees what the call requires.
            return unsafe { create(thread, attributes, start, argument) };
        }
        let begin = Box::into_raw(Box::new(Begin {
            cell,
            start,
            argument,
        }));
        // SAFETY: the caller guarantees what the call requires, and the new thread frees what it begins with.
        let result = unsafe { create(thread, attributes, run, begin.cast()) };
        if result != 0 {
            // SAFETY: no thread has received it.
            drop(unsafe { Box::from_raw(begin) });
        }
        result
    }

    /// Runs a thread of a cell.
    ///
    /// # Safety
    ///
    /// `begin` is a [`Begin`] that nothing else uses.
    unsafe extern "C-unwind" fn run(begin: *mut c_void) -> *mut c_void {
        // SAFETY: guaranteed by the caller.
        let Begin {
            cell,
            start,
            argument,
        } = *unsafe { Box::from_raw(begin.cast::<Begin>()) };
        CELL.set(cell);
        // SAFETY: the creator guarantees what `pthread_create(3)` requires.
        unsafe { start(argument) }
    }
}
