//! The type of the hints in this folder.

use crate::session::diagnostics::diagnostic::{Diagnostic, Label};
use crate::session::position::byte_offset;

/// A hint, and whether it replaces the compiler's notes.
pub(super) struct Hint {
    pub(super) text: String,
    pub(super) instead: bool,
}

/// Returns a hint in place of the compiler's notes.
pub(super) fn instead(text: String) -> Hint {
    Hint {
        text,
        instead: true,
    }
}

/// Returns a hint below the compiler's notes.
pub(super) fn besides(text: String) -> Hint {
    Hint {
        text,
        instead: false,
    }
}

/// Returns the part of the cell that a label marks.
pub(super) fn marked<'a>(label: &Label, cell: &'a str) -> &'a str {
    let range = byte_offset(cell, label.start)..byte_offset(cell, label.end);
    cell.get(range).unwrap_or_default()
}

/// Returns whether the called function is not a cell's. A note shows the signature of a library's function, or is
/// left out where a macro has made the function.
pub(super) fn is_of_library(diagnostic: &Diagnostic) -> bool {
    let mut notes = diagnostic.notes.iter();
    !notes.any(|note| note.message.ends_with("defined here"))
}

/// Returns the first text between backticks.
pub(super) fn quoted(message: &str) -> &str {
    message.split('`').nth(1).unwrap_or_default()
}
