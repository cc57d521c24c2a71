//! Records: reports that the process that runs cells writes between its other output. An engine adds some of its own.

use crate::event::{Event, MimeBundle, Stream};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The control character with which every record begins. Printed text does not contain it by accident.
pub const MARK: char = '\x1e';

/// A report from the cells process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Record {
    /// Printed text.
    Text {
        /// The stream to which it was written.
        stream: Stream,
        /// The text.
        text: String,
    },
    /// A value to show below the cell.
    Display {
        /// The representations of the value.
        data: MimeBundle,
        /// Jupyter's metadata of the representations.
        #[serde(default)]
        metadata: Map<String, Value>,
        /// The display id, by which a later record can update this output.
        #[serde(default)]
        id: Option<String>,
    },
    /// New content for all outputs with a display id.
    Update {
        /// The representations of the new value.
        data: MimeBundle,
        /// Jupyter's metadata of the representations.
        #[serde(default)]
        metadata: Map<String, Value>,
        /// The display id of the outputs.
        id: String,
    },
    /// The cell's outputs are removed.
    Clear {
        /// Whether the outputs stay until the next output comes.
        #[serde(default)]
        wait: bool,
    },
    /// The value of the cell's last expression.
    Result {
        /// The representations of the value.
        data: MimeBundle,
        /// Jupyter's metadata of the representations.
        #[serde(default)]
        metadata: Map<String, Value>,
    },
    /// A control that the user can move.
    Widget {
        /// The id with which the front end reports changes of the control.
        id: String,
        /// The state of the control in the protocol of Jupyter's widgets.
        state: Map<String, Value>,
    },
    /// The cell's thread panicked.
    Panic {
        /// The message of the panic.
        message: String,
        /// Whether `taper` has panicked with one of its errors, such as that of a wrong shape.
        #[serde(default)]
        is_error: bool,
        /// The source file.
        file: Option<String>,
        /// The line in the source that was compiled.
        line: Option<usize>,
    },
    /// A `?` that failed ended the cell.
    Failed {
        /// The error, and what to do about it.
        message: String,
        /// The source file, where it is known.
        #[serde(default)]
        file: Option<String>,
        /// The line in the source that was compiled.
        #[serde(default)]
        line: Option<usize>,
    },
    /// A thread other than the cell's panicked. The cell continues.
    ThreadPanic {
        /// The name of the thread, if it has one.
        thread: Option<String>,
        /// The message of the panic.
        message: String,
        /// The source file.
        file: Option<String>,
        /// The line in the source that was compiled.
        line: Option<usize>,
    },
    /// A cell of an exported program begins.
    Cell {
        /// The id of the cell in its notebook.
        id: String,
        /// The digest of its source.
        digest: String,
    },
    /// The compiled cell begins to run.
    Begin,
    /// The cell reads a line of standard input.
    Input,
    /// How long the compiled cell ran.
    Ran(Times),
    /// The cells process has ended.
    Ended(End),
}

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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The exit status, unless a signal ended the process.
    pub code: Option<i32>,
    /// The signal that ended the process.
    pub signal: Option<i32>,
    /// The size in bytes of the allocation that failed, if the process ran out of memory.
    pub allocation: Option<u64>,
}

/// Returns the event that a front receives for a record; `None` for a record about the start, the run or the
/// end of a cell.
pub fn events_of(record: Record) -> Option<Event> {
    Some(match record {
        Record::Text { stream, text } => Event::Text { stream, text },
        Record::Display { data, metadata, id } => Event::Display {
            data,
            metadata,
            display_id: id,
        },
        Record::Update { data, metadata, id } => Event::UpdateDisplay {
            data,
            metadata,
            display_id: id,
        },
        Record::Clear { wait } => Event::Clear { wait },
        Record::Result { data, metadata } => Event::Result { data, metadata },
        Record::Widget { id, state } => Event::Widget { id, state },
        Record::ThreadPanic {
            thread, message, ..
        } => thread_panic(thread.as_deref(), None, &message),
        Record::Panic { .. }
        | Record::Failed { .. }
        | Record::Begin
        | Record::Input
        | Record::Ran(_)
        | Record::Ended(_)
        | Record::Cell { .. } => return None,
    })
}

/// Returns the event that a front receives for the panic of a thread: a text, with the line in the cell if it is
/// known.
pub fn thread_panic(thread: Option<&str>, line: Option<usize>, message: &str) -> Event {
    let thread = thread.map_or("a thread".to_owned(), |name| format!("the thread `{name}`"));
    let line = line.map_or(String::new(), |line| format!(" at line {line}"));
    Event::Text {
        stream: Stream::Stderr,
        text: format!("{thread} panicked{line}: {message}\n"),
    }
}
