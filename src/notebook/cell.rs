//! The cell that runs: its thread, and the page on which its outputs stand.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// See [`page`].
static PAGE: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_CELL_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// A number for the outputs of the current cell: another cell, or a cleared one, has another. What
/// was shown on an earlier page cannot be relied on to be still there.
pub(crate) fn page() -> u64 {
    PAGE.load(Ordering::Relaxed)
}

/// From now on outputs stand on another [`page`].
pub(crate) fn turn_page() {
    PAGE.fetch_add(1, Ordering::Relaxed);
}

/// Whether this thread is the one that runs the cells, and not one that a cell started.
pub(crate) fn is_cell_thread() -> bool {
    IS_CELL_THREAD.get()
}

/// From now on this thread is the one that runs the cells.
pub(super) fn mark_cell_thread() {
    IS_CELL_THREAD.set(true);
}
