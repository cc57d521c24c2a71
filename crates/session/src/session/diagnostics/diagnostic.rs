//! A compiler's message about a cell, with all positions in the cell.

use taper_rust_cell::position::{Position, position_of};

/// One message of the compiler about the cell.
#[derive(Debug, Default)]
pub(crate) struct Diagnostic {
    pub(crate) is_error: bool,
    pub(crate) message: String,
    pub(crate) code: Option<String>,
    pub(crate) labels: Vec<Label>,
    pub(crate) notes: Vec<Note>,
    /// Whether the function with wrong arguments is one of `taper`.
    pub(crate) calls_taper: bool,
    /// This crate's advice on what to do.
    pub(crate) hint: Option<String>,
}

/// A part of the cell that a message is about.
#[derive(Debug)]
pub(crate) struct Label {
    pub(crate) start: Position,
    pub(crate) end: Position,
    pub(crate) text: String,
    pub(crate) primary: bool,
}

/// The compiler's explanation, or its suggestion of a change.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) is_help: bool,
    pub(crate) message: String,
    pub(crate) edits: Vec<Edit>,
    /// The suggestion would change another cell, or the engine's code.
    pub(crate) is_outside_cell: bool,
}

/// Replaces a part of the cell by a new text.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) start: Position,
    pub(crate) end: Position,
    pub(crate) text: String,
}

impl Label {
    /// Creates the primary label for the text `marked` at the byte `offset` of the cell.
    pub(super) fn at(offset: usize, marked: &str, text: &str, cell: &str) -> Label {
        Label {
            start: position_of(cell, offset),
            end: position_of(cell, offset + marked.len()),
            text: text.to_owned(),
            primary: true,
        }
    }
}

impl Diagnostic {
    /// Returns the label of the error itself.
    pub(crate) fn primary(&self) -> Option<&Label> {
        self.labels
            .iter()
            .find(|l| l.primary)
            .or(self.labels.first())
    }

    pub(super) fn has_two_types_of_one_name(&self) -> bool {
        let mut notes = self.notes.iter();
        notes.any(|note| {
            note.message
                .contains("have similar names, but are actually distinct")
        })
    }

    /// Returns whether the parser reports the error. Its later errors follow from the first.
    pub(super) fn is_syntax_error(&self) -> bool {
        self.code.is_none() && self.message.starts_with("expected ")
    }

    pub(super) fn headline(&self) -> String {
        match &self.code {
            Some(code) => format!("[{code}] {}", self.message),
            None => self.message.clone(),
        }
    }
}
