//! What the process in which evcxr runs cells does besides, where cells read and write. It is set by `evcxr.rs`, so that input
//! and output need not know evcxr.

use std::sync::OnceLock;

/// The places at which evcxr's adapter joins in.
pub(super) struct Adapter {
    /// Returns whether the calling thread is about to read evcxr's next instruction.
    pub(super) reads_instruction: fn() -> bool,
    /// Notes an instruction that was read.
    pub(super) after_read: fn(&[u8]),
    /// Asks evcxr for a line of input.
    pub(super) ask: fn(),
    /// Ends a line that is not complete, after everything was shown.
    pub(super) after_flush: fn(),
    /// Writes a line of evcxr's own that is about to be written to a standard stream. Returns whether it was one: such a
    /// line is written even if the cell was asked to stop.
    pub(super) write_mark: fn(&[u8]) -> bool,
    /// Writes what else is about to be written to a standard stream, or returns `false` if it is to be written as it is.
    pub(super) write_instead: fn(i32, &[u8]) -> bool,
}

static ADAPTER: OnceLock<Adapter> = OnceLock::new();

/// Returns the adapter, in a process that evcxr has started.
pub(super) fn adapter() -> Option<&'static Adapter> {
    ADAPTER.get()
}

/// Sets the adapter, once.
pub(super) fn set(adapter: Adapter) {
    let _ = ADAPTER.set(adapter);
}
