//! What a session needs of an engine.

use super::input::InputRequest;
use crate::session::diagnostics::{Diagnostic, EngineError};
use crate::session::interrupt::Cells;
use crate::session::names::Changes;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use taper_engine::Replaced;
use taper_evaluator::Editor;
use taper_evaluator::evaluator::{CellName, Late, StaleCell};
use taper_evaluator::event::MimeBundle;
use taper_evaluator::record::Record;
use taper_host::progress::Progress;

/// Where a session works and what it starts with.
pub(crate) struct Start<'a> {
    /// The folder in which packages are compiled, with the files of the image.
    pub(crate) work: &'a Path,
    /// The folder of the crate `taper`, loaded before the first cell.
    pub(crate) taper: PathBuf,
    /// The enabled features of that crate.
    pub(crate) features: Vec<String>,
    /// The library `taper` in the work directory.
    pub(crate) library: PathBuf,
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
    /// What the lines of the cell took.
    Profile(taper_engine::Profile),
}

/// What adding packages has changed.
#[derive(Default)]
pub(crate) struct Added {
    /// Whether `taper` was compiled again.
    pub(crate) is_rebuilt: bool,
    /// What of the notebook is lost, because packages were replaced.
    pub(crate) replaced: Replaced,
    /// The package for which `taper` was compiled again.
    pub(crate) shared: Option<String>,
}

/// How a cell runs.
pub(crate) enum How<'a> {
    /// As a user's cell does.
    Once,
    /// With its lines measured.
    Profiled,
    /// As a cell of the session's own that runs often, with its arguments.
    Repeated(&'a [String]),
}

/// Receives the events of a cell.
pub(crate) type Listen<'a> = dyn FnMut(EngineEvent) + 'a;

/// Compiles and runs cells, and keeps their variables.
pub(crate) trait Engine: Send {
    /// Returns the first cell of a session, which makes this import.
    fn first_cell(&self, import: &str) -> String {
        import.to_owned()
    }

    /// Compiles and runs a cell. Calls `listen` with its events, in order, and returns the engine's own output.
    fn execute(&mut self, code: &str, listen: &mut Listen) -> Result<MimeBundle, EngineError>;

    /// Sets who receives what threads print after their cell.
    fn set_late(&mut self, _late: Arc<dyn Late>) {}

    /// Notes that the outputs of the last cell are complete: what its threads print from now on comes after them.
    fn end_outputs(&mut self) {}

    /// Adds the packages of `:dep` lines, given by name and value; `None` if [`Self::execute`] does.
    fn add_packages(
        &mut self,
        _dependencies: &[(&str, &str)],
        _progress: &mut dyn Progress,
    ) -> Option<Result<Added, EngineError>> {
        None
    }

    /// Returns whether [`Self::profile`] measures the lines of a cell.
    fn can_profile(&self) -> bool {
        false
    }

    /// Runs a cell as [`Self::execute`] does, and measures its lines: [`EngineEvent::Profile`].
    fn profile(&mut self, code: &str, listen: &mut Listen) -> Result<MimeBundle, EngineError> {
        self.execute(code, listen)
    }

    /// Ends the process in which cells run, and with it all variables.
    fn end_process(&mut self) -> Result<(), EngineError>;

    /// Returns whether [`Self::repeat`] compiles a cell only once.
    fn can_repeat(&self) -> bool {
        false
    }

    /// Runs a cell of the session's own that runs often. It reads `arguments` with `::cell_support::argument`.
    fn repeat(
        &mut self,
        code: &str,
        _arguments: &[String],
        listen: &mut Listen,
    ) -> Result<MimeBundle, EngineError> {
        self.execute(code, listen)
    }

    /// Returns the names and types of the variables.
    fn variables(&self) -> Vec<(String, String)>;

    /// Begins to compile a cell that may run next: see [`taper_engine::Engine::compile_ahead`].
    fn compile_ahead(&mut self, _code: &str) -> Option<taper_engine::Ahead> {
        None
    }

    /// Returns what the last cell has done to the variables of earlier cells.
    fn changes(&mut self) -> Changes {
        Changes::default()
    }

    /// Returns the variables that this cell loses if it runs, because it changes their type.
    fn would_lose(&self, _code: &str) -> Vec<String> {
        Vec::new()
    }

    /// Returns the variables that the last cell has frozen, each with those that borrow from it, in words.
    fn frozen(&mut self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Sets which cell of the notebook the next [`Engine::execute`] runs; other code is the session's own.
    fn begin_cell(&mut self, _cell: CellName) {}

    /// Returns the cells that are stale; `None` if the engine does not know.
    fn stale(&self) -> Option<Vec<StaleCell>> {
        None
    }

    /// Returns whether a cell has run, and its variables are not lost.
    fn has_run(&self, _id: &str) -> bool {
        false
    }

    /// Sets the order of the cells in the notebook, by their ids.
    fn set_order(&mut self, _cells: &[String]) {}

    /// Returns the execution count of the cell that defines a variable.
    fn maker(&self, _variable: &str) -> Option<usize> {
        None
    }

    /// Returns the line of an earlier cell in which the last cell has failed, if it has failed in one.
    fn earlier_line(&mut self) -> Option<String> {
        None
    }

    /// Returns what completes and documents code, also while a cell runs.
    fn editor(&self) -> Arc<dyn Editor>;

    /// Does a little for the editor while there is no request. Returns whether there is more to do.
    fn idle(&mut self) -> bool {
        false
    }

    /// Frees memory, because no request has come for a while.
    fn rest(&mut self) {}

    /// Returns the type of an expression, with `{unknown}` in place of what is not known.
    fn type_of(&mut self, expression: &str) -> Option<String>;

    /// Returns what an interrupt reaches.
    fn cells(&self) -> Box<dyn Cells>;
}
