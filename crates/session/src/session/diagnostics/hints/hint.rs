//! The type of the hints in this folder.

use crate::session::diagnostics::diagnostic::Label;
use crate::session::source_map::byte_offset;

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

/// Returns the first text between backticks.
pub(super) fn quoted(message: &str) -> &str {
    message.split('`').nth(1).unwrap_or_default()
}
