//! A compiler's message about a cell, with all positions in the cell.

use crate::session::source_map::{Position, position_of};

/// One message of the compiler about the cell.
#[derive(Debug, Default)]
pub(crate) struct Diagnostic {
    pub(crate) is_error: bool,
    pub(crate) message: String,
    pub(crate) code: Option<String>,
    pub(crate) labels: Vec<Label>,
    pub(crate) notes: Vec<Note>,
    /// Our own words.
    pub(crate) hint: Option<String>,
}

/// A place in the cell that a message speaks of.
#[derive(Debug)]
pub(crate) struct Label {
    pub(crate) start: Position,
    pub(crate) end: Position,
    pub(crate) text: String,
    pub(crate) primary: bool,
}

/// What the compiler adds: an explanation, or a change that would help.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) is_help: bool,
    pub(crate) message: String,
    pub(crate) edits: Vec<Edit>,
    /// It would change another cell, or evcxr's code.
    pub(crate) is_elsewhere: bool,
}

/// New text for a part of the cell.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) start: Position,
    pub(crate) end: Position,
    pub(crate) text: String,
}

impl Label {
    /// What is wrong is `marked`, at `offset` bytes of the cell.
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
    /// The label that says what is wrong.
    pub(crate) fn primary(&self) -> Option<&Label> {
        self.labels
            .iter()
            .find(|l| l.primary)
            .or(self.labels.first())
    }

    pub(super) fn is_about_two_types(&self) -> bool {
        let mut notes = self.notes.iter();
        notes.any(|note| {
            note.message
                .contains("have similar names, but are actually distinct")
        })
    }

    /// Of the parser: what it says about the rest of the cell follows from the first mistake.
    pub(super) fn is_about_grammar(&self) -> bool {
        self.code.is_none() && self.message.starts_with("expected ")
    }

    pub(super) fn headline(&self) -> String {
        match &self.code {
            Some(code) => format!("[{code}] {}", self.message),
            None => self.message.clone(),
        }
    }
}
