//! What happens while a cell runs, in the order in which it happens.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One value in several representations, keyed by MIME type.
pub type MimeBundle = Map<String, Value>;

/// Which of the two text streams of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    /// The name that Jupyter gives it.
    pub fn name(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }
}

/// One thing that a cell did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Text on standard output or standard error, as it came: lines are not kept whole.
    Text { stream: Stream, text: String },
    /// A figure, a table, …: anything shown with `display`.
    Display {
        data: MimeBundle,
        metadata: Map<String, Value>,
        /// Names the output so that a later event can update it.
        display_id: Option<String>,
    },
    /// New content for all outputs that carry this display id.
    UpdateDisplay {
        data: MimeBundle,
        metadata: Map<String, Value>,
        display_id: String,
    },
    /// Remove the cell's outputs so far; with `wait`, when the next one comes.
    Clear { wait: bool },
    /// The value of the cell's last expression.
    Result {
        data: MimeBundle,
        metadata: Map<String, Value>,
    },
    /// The cell failed. Nothing of the same cell follows.
    Error(CellError),
}

/// The name of the error when nothing of the cell ran.
pub const COMPILE_ERROR: &str = "CompileError";

/// Why a cell failed, said to the person who wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CellError {
    /// The kind, as one word: `CompileError`, `Error`, `Panic`, `Interrupted`, …
    pub name: String,
    /// What went wrong, in one line or a few.
    pub message: String,
    /// What a notebook shows: lines with ANSI colours, the message included.
    pub traceback: Vec<String>,
    /// Where in the cell, where that is known.
    pub location: Option<Location>,
}

/// A place in a cell: line and column count from 1, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    pub line: usize,
    pub column: Option<usize>,
}
