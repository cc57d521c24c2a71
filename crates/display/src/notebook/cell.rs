//! The running cell: its thread and its output area.

use std::cell::{Cell, RefCell};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The value that [`output_area`] returns.
static OUTPUT_AREA: AtomicU64 = AtomicU64::new(0);

/// How many threads have run the cells, one after the other.
static TURNS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Which of the threads that run the cells this is; 0 for all others.
    static TURN: Cell<u64> = const { Cell::new(0) };
    /// What runs at the end of the cell.
    static AT_END: RefCell<Vec<fn()>> = const { RefCell::new(Vec::new()) };
}

/// Whether the lines of the cell are measured, as the kernel says.
static IS_PROFILED: OnceLock<extern "C" fn() -> bool> = OnceLock::new();

/// Returns whether this thread runs a cell with `%%profile`.
#[doc(hidden)]
pub fn is_profiled() -> bool {
    is_cell_thread() && IS_PROFILED.get().is_some_and(|is_profiled| is_profiled())
}

pub(super) fn set_profiled(is_profiled: extern "C" fn() -> bool) {
    let _ = IS_PROFILED.set(is_profiled);
}

/// Calls `show` at the end of the cell that runs on this thread.
#[doc(hidden)]
pub fn at_end(show: fn()) {
    AT_END.with_borrow_mut(|all| all.push(show));
}

pub(super) fn end() {
    AT_END.take().into_iter().for_each(|show| show());
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
    TURN.get() != 0 && !is_left()
}

/// Returns whether the cell of this thread did not stop when it was interrupted, and another thread runs the next cells.
pub(super) fn is_left() -> bool {
    TURN.get() != 0 && TURN.get() != TURNS.load(Ordering::Relaxed)
}

/// Marks this thread as the one that runs the cells.
pub(super) fn mark_cell_thread() {
    TURN.set(TURNS.fetch_add(1, Ordering::Relaxed) + 1);
}
