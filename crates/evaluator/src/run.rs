//! How a cell ran, and how its process ended.

use serde::{Deserialize, Serialize};

/// How long a cell ran, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// The time from the start of the cell to its end.
    pub wall: u64,
    /// The CPU time in user mode, of all threads.
    pub user: u64,
    /// The CPU time in system mode, of all threads.
    pub system: u64,
}

/// How the cells process ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// The exit status, unless a signal ended the process.
    pub code: Option<i32>,
    /// The signal that ended the process.
    pub signal: Option<i32>,
    /// The size in bytes of the allocation that failed, if the process ran out of memory.
    pub allocation: Option<u64>,
}

/// What a cell reports when it fails while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// Its thread panicked.
    Panic,
    /// Its thread panicked with one of `taper`'s errors, such as for a wrong shape.
    Raised,
    /// A `?` failed.
    QuestionMark,
}
