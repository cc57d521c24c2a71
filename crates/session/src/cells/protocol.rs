//! What a session passes to the process that runs cells.

use serde::{Deserialize, Serialize};

/// The secret at the start of each record that a cell sends. If it is set, `taper` runs in a session.
pub(super) const SECRET_VARIABLE: &str = "TAPER_DISPLAY";
/// The path of the library `taper`, which the process loads before the first cell.
pub(super) const LIBRARY_VARIABLE: &str = "TAPER_LIBRARY";
/// The descriptor from which cells read answers.
pub(crate) const ANSWERS_VARIABLE: &str = "TAPER_ANSWERS";

/// The answer to a cell that reads a line of standard input. It is sent as one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The user's line.
    Line(String),
    /// There is no user to ask: the end of the file.
    End,
    /// The user has interrupted the cell instead.
    Interrupted,
}
