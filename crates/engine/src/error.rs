//! Why the engine itself fails, and why a cell does.

use crate::diagnostic::Diagnostic;
use anyhow::{Error, anyhow};
use taper_evaluator::run::End;

/// The error when rustc or the linker fails without a message about the cell.
#[derive(Debug, thiserror::Error)]
#[error("{program} failed: {output}")]
pub struct CompilerFailed {
    /// The program.
    pub(crate) program: &'static str,
    /// What it printed.
    pub output: String,
}

/// Returns a [`CompilerFailed`] with what the program printed.
pub(crate) fn compiler_failed(program: &'static str, printed: impl Into<String>) -> Error {
    let output = printed.into();
    CompilerFailed { program, output }.into()
}

/// Returns the error when a compiled cell cannot be loaded.
pub(crate) fn not_loaded(why: &str) -> Error {
    anyhow!("cannot load the compiled cell: {why}")
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
    /// The engine failed. The cell is not to blame, and the next one may succeed.
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
