//! Which thread runs the cells. A thread whose cell was left goes on, but its turn is over: what it does concerns no other
//! cell.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// The number of the current turn.
static CURRENT: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The number of this thread's turn; 0 if it has never run cells.
    static MINE: Cell<u32> = const { Cell::new(0) };
}

/// Begins the turn of the calling thread, which ends that of another one.
pub(super) fn begin() {
    MINE.set(CURRENT.fetch_add(1, Ordering::SeqCst) + 1);
}

/// Returns whether the calling thread runs the cells.
pub(super) fn is_mine() -> bool {
    MINE.get() != 0 && !is_over()
}

/// Returns whether the calling thread has run cells, and another one does now.
pub(super) fn is_over() -> bool {
    MINE.get() != 0 && MINE.get() != CURRENT.load(Ordering::SeqCst)
}

/// Keeps the calling thread from doing anything more.
pub(super) fn stay() -> ! {
    loop {
        thread::park();
    }
}
