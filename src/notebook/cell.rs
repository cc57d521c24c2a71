//! The running cell: its thread and its output area.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The value that [`output_area`] returns.
static OUTPUT_AREA: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_CELL_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Returns the number of the current output area. Every cell begins a new area, and so does a cell that
/// clears its outputs. Displays in an earlier area may no longer exist.
pub(crate) fn output_area() -> u64 {
    OUTPUT_AREA.load(Ordering::Relaxed)
}

/// Begins a new [`output_area`].
pub(crate) fn begin_output_area() {
    OUTPUT_AREA.fetch_add(1, Ordering::Relaxed);
}

/// Returns whether this thread runs the cells; false in a thread that a cell has started.
pub(crate) fn is_cell_thread() -> bool {
    IS_CELL_THREAD.get()
}

/// Marks this thread as the one that runs the cells.
pub(super) fn mark_cell_thread() {
    IS_CELL_THREAD.set(true);
}
