//! What a session needs of an engine.

use super::input::InputRequest;
use crate::session::diagnostics::{Diagnostic, EngineError};
use crate::session::interrupt::Cells;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use taper_evaluator::evaluator::Completions;
use taper_evaluator::event::MimeBundle;
use taper_evaluator::record::Record;

/// Where a session works and what it starts with.
pub(crate) struct Start<'a> {
    /// evcxr's work directory, with the files of the image, or empty.
    pub(crate) work: &'a Path,
    /// The folder of the crate `taper`, loaded before the first cell.
    pub(crate) taper: PathBuf,
    /// The enabled features of that crate.
    pub(crate) features: Vec<String>,
    /// The library `taper` in the work directory, if the image has it.
    pub(crate) library: Option<PathBuf>,
}

/// An event while a cell is compiled and runs.
pub(crate) enum EngineEvent {
    Record(Record),
    /// The compiler's warnings, before the cell runs.
    Warnings(Vec<Diagnostic>),
    /// A thread of the cell panicked, at this line of the cell.
    ThreadPanic {
        thread: Option<String>,
        message: String,
        line: Option<usize>,
    },
    InputRequest(InputRequest),
}

/// Receives the events of a cell.
pub(crate) type Listen<'a> = dyn FnMut(EngineEvent) + 'a;

/// Compiles and runs cells, and keeps their variables.
pub(crate) trait Engine: Send {
    /// Compiles and runs a cell. Calls `listen` with its events, in order, and returns the output of
    /// commands such as `:vars`.
    fn execute(&mut self, code: &str, listen: &mut Listen) -> Result<MimeBundle, EngineError>;

    /// Returns the names and types of the variables.
    fn variables(&self) -> Vec<(String, String)>;

    /// Returns the variables that the last cell has lost because it changed their type; `None` if the engine does
    /// not notice such changes.
    fn lost(&mut self) -> Option<Vec<String>>;

    /// Returns the source of the last compilation.
    fn last_source(&self) -> String;

    /// Returns whether the code compiles.
    fn compiles(&mut self, code: &str) -> bool;

    /// Returns the completions at the byte `cursor`.
    fn complete(&mut self, code: &str, cursor: usize) -> Completions;

    /// Returns the documentation of what is at the byte `cursor`.
    fn inspect(&mut self, code: &str, cursor: usize) -> Option<MimeBundle>;

    /// Returns the type of an expression, with `{unknown}` in place of what is not known.
    fn type_of(&mut self, expression: &str) -> Option<String>;

    /// Returns the process that an interrupt reaches, also after restarts.
    fn cells(&self) -> Cells;

    /// Returns the switch by which an evaluation is given up.
    fn given_up(&self) -> Arc<AtomicBool> {
        Arc::default()
    }

    /// Returns whether nothing is evaluated.
    fn is_idle(&self) -> bool {
        true
    }

    /// Waits for an evaluation that was given up; returns whether it has ended. If not, the wait was
    /// given up too.
    fn wait(&mut self, _listen: &mut Listen) -> bool {
        true
    }
}
