//! The events of a cell, in the order in which they happen.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A value in several representations, by MIME type.
pub type MimeBundle = Map<String, Value>;

/// A text stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// Returns Jupyter's name for the stream.
    pub fn name(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }
}

/// Something that happened while a cell ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The cell printed text. Lines may be split at any character.
    Text {
        /// The stream to which it was written.
        stream: Stream,
        /// The text.
        text: String,
    },
    /// The cell showed a figure, a table or another value with `display`.
    Display {
        /// The representations of the value.
        data: MimeBundle,
        /// Jupyter's metadata of the representations.
        #[serde(default)]
        metadata: Map<String, Value>,
        /// A name with which a later event can update this output.
        #[serde(default)]
        display_id: Option<String>,
    },
    /// The cell changed the content of all outputs with a display id.
    UpdateDisplay {
        /// The representations of the new value.
        data: MimeBundle,
        /// Jupyter's metadata of the representations.
        #[serde(default)]
        metadata: Map<String, Value>,
        /// The display id of the outputs.
        display_id: String,
    },
    /// The cell removed its outputs so far.
    Clear {
        /// Whether the outputs stay until the next output comes.
        #[serde(default)]
        wait: bool,
    },
    /// The cell's last expression has a value.
    Result {
        /// The representations of the value.
        data: MimeBundle,
        /// Jupyter's metadata of the representations.
        #[serde(default)]
        metadata: Map<String, Value>,
    },
    /// A command such as `%fmt` replaced the source of the cell.
    NextInput {
        /// The new source.
        text: String,
    },
    /// The cell created a control that the user can move. A later display shows the control.
    Widget {
        /// The name for [`Evaluator::update_widget`](crate::Evaluator::update_widget).
        id: String,
        /// The state of the control in the protocol of Jupyter's widgets.
        state: Map<String, Value>,
    },
    /// The cell failed. This is the cell's last event.
    Error(CellError),
}

impl Event {
    /// Returns the event of a text on the standard error.
    pub fn stderr(text: impl Into<String>) -> Event {
        Event::Text {
            stream: Stream::Stderr,
            text: text.into(),
        }
    }

    /// Returns the event of a text on the standard output.
    pub fn stdout(text: impl Into<String>) -> Event {
        Event::Text {
            stream: Stream::Stdout,
            text: text.into(),
        }
    }
}

/// Returns the event for the panic of a thread that does not end the cell: a text, with the line in the cell if it is
/// known.
pub fn thread_panic(thread: Option<&str>, line: Option<usize>, message: &str) -> Event {
    let thread = thread.map_or("a thread".to_owned(), |name| format!("the thread `{name}`"));
    let line = line.map_or(String::new(), |line| format!(" at line {line}"));
    Event::stderr(format!("{thread} panicked{line}: {message}\n"))
}

/// The name of the error of a cell that did not compile. No part of such a cell was run.
pub const COMPILE_ERROR: &str = "CompileError";

/// The reason why a cell failed, written for the user who wrote the cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{name}: {message}")]
pub struct CellError {
    /// The kind, as one word: `CompileError`, `Error`, `Panic`, `Interrupted`, …
    pub name: String,
    /// The reason, in one line or a few.
    pub message: String,
    /// The lines that a notebook shows, with ANSI colours; they contain the message.
    pub traceback: Vec<String>,
    /// The position of the error in the cell, where it is known.
    pub location: Option<Location>,
}

/// A position in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: Option<usize>,
}
