//! What a session needs of an engine.

use crate::session::diagnostics::{self, Context, Diagnostic, EngineError};
use crate::session::interrupt::{Cells, Interrupter};
use crate::session::names::{Changes, Names};
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use taper_engine::{Answer, Profile, Replaced};
use taper_evaluator::run::Times;
use taper_evaluator::{CellName, Editor, Event, Front};

/// Where a session works and what it starts with.
pub(crate) struct Start<'a> {
    /// The folder in which packages are compiled, with the files of the image, if there is one.
    pub(crate) work: &'a Path,
    /// The folder of the crate `taper`.
    pub(crate) taper: PathBuf,
    /// The enabled features of that crate.
    pub(crate) features: Vec<String>,
    /// The library `taper` in the work directory, loaded before the first cell; `None` while the image is built.
    pub(crate) library: Option<PathBuf>,
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

/// Code that an engine runs.
pub(crate) struct Code<'a> {
    pub(crate) text: &'a str,
    /// The cell of the notebook with this code; other code is the session's own.
    pub(crate) cell: Option<CellName>,
    pub(crate) how: How<'a>,
}

/// How code ran.
#[derive(Default)]
pub(crate) struct Ran {
    /// Why it did not run to its end.
    pub(crate) error: Option<EngineError>,
    pub(crate) times: Option<Times>,
    /// What the lines of the cell took.
    pub(crate) profile: Option<Profile>,
    /// What it has done to the variables of earlier cells.
    pub(crate) changes: Changes,
    /// The variables that it has frozen, each with those that borrow from it, in words.
    pub(crate) frozen: Vec<(String, String)>,
}

/// The session's side of code that an engine runs: passes on what happens, in order.
pub(crate) struct Running<'a> {
    pub(crate) code: &'a str,
    pub(crate) names: &'a Names,
    pub(crate) interrupter: &'a Interrupter,
    pub(crate) front: &'a mut dyn Front,
}

impl Running<'_> {
    /// Says that the compiled code begins to run.
    pub(crate) fn begun(&mut self) {
        self.interrupter.set_begun(true);
        self.front.begun();
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.front.event(event);
    }

    /// Shows the compiler's warnings.
    pub(crate) fn warnings(&mut self, warnings: Vec<Diagnostic>) {
        for warning in warnings {
            let context = Context::new(self.code, self.names, &[]);
            self.front.event(diagnostics::warning(warning, &context));
        }
    }

    /// Asks the user for a line of input.
    pub(crate) fn input(&mut self, prompt: &str, password: bool) -> Answer {
        match self.front.input(prompt, password) {
            Some(line) => Answer::Line(line),
            None if self.interrupter.is_asked_to_stop() => Answer::Interrupted,
            None => Answer::End,
        }
    }
}

/// Compiles and runs cells, and keeps their variables.
pub(crate) trait Engine: Any + Send {
    /// Returns the first cell of a session, which makes this import.
    fn first_cell(&self, import: &str) -> String {
        import.to_owned()
    }

    /// Compiles and runs code.
    fn execute(&mut self, code: Code, running: &mut Running) -> Ran;

    /// Ends the process in which cells run, and with it all variables.
    fn end_process(&mut self);

    /// Returns the names and types of the variables.
    fn variables(&self) -> Vec<(String, String)>;

    /// Returns the type of an expression, with `{unknown}` in place of what is not known.
    fn type_of(&mut self, expression: &str) -> Option<String>;

    /// Returns what completes and documents code, also while a cell runs.
    fn editor(&self) -> Arc<dyn Editor>;

    /// Returns what an interrupt reaches.
    fn cells(&self) -> Box<dyn Cells>;
}
