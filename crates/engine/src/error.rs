//! Why the engine itself fails, and why a cell does.

use crate::diagnostic::Diagnostic;
use taper_evaluator::run::End;

/// The result of functions of this crate.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// The engine cannot do its work. The cell is not to blame, and the next one may succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file, a program or something else of the machine could not be used.
    #[error(transparent)]
    Host(#[from] taper_host::Error),
    /// rustc or the linker failed without a message about the cell.
    #[error("{program} failed: {output}")]
    Compiler {
        /// The program.
        program: &'static str,
        /// What it printed.
        output: String,
    },
    /// A compiled cell could not be loaded.
    #[error("cannot load the compiled cell: {0}")]
    Load(String),
    /// The process that runs the cells does not start. Holds what it printed.
    #[error("the process that runs the cells does not start: {0}")]
    Start(String),
    /// The process that runs the cells sent something unexpected.
    #[error("the process that runs the cells sent an invalid message: {0}")]
    Protocol(String),
}

/// Why a cell did not run to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// The cell does not compile. No part of it has run.
    Compile(Vec<Diagnostic>),
    /// A variable cannot be kept for later cells. No part of the cell has run.
    Refused(Refusal),
    /// The cell panicked.
    Panic(Fault),
    /// A `?` failed.
    Failed(Fault),
    /// The cell was interrupted. If its process was killed, all variables are lost.
    Interrupted {
        /// Whether the process was killed.
        is_killed: bool,
    },
    /// The cell was interrupted and did not stop. It goes on, on a thread of its own. The variables that it uses are lost,
    /// and those that only that thread can use.
    Left,
    /// The process ended while the cell ran. All variables are lost.
    Ended(End),
    /// The engine failed.
    Engine(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Engine(error)
    }
}

/// Why the engine does not compile a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// An inner attribute of the cell applies to a whole crate, such as `#![no_std]`.
    Attribute(String),
    /// The type of a variable of an earlier cell cannot be written, because it is private to a package.
    NamelessType {
        /// The variable.
        variable: String,
        /// The type as rustc writes it.
        kind: String,
    },
}

/// A panic or a failed `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The message.
    pub message: String,
    /// Where it happened, if that is in a cell.
    pub place: Option<Place>,
    /// Whether a package explains it: see [`Host::is_error`](crate::Host::is_error).
    pub is_error: bool,
}

/// A position in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The number of the evaluation that compiled this text.
    pub cell: u32,
    /// The line, counted from 1.
    pub line: usize,
}
