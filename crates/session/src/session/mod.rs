//! The evaluator: a cell goes in, a stream of typed events comes out.
//!
//! - [`engine`] evaluates Rust; [`ahead`] and [`idle`] let it compile the next cell before that runs;
//! - [`library`] runs plain Rust while the library `taper` is compiled, and is [`awaited`];
//! - [`shell`] and [`dependencies`] run what the session does itself: `!` and `:dep`;
//! - [`names`], [`definitions`] and [`variables`] track variables, to show them and to explain errors;
//! - [`commands`] reads and runs commands such as `%time`;
//! - [`needs`] says which cells must run before another;
//! - [`mod@editor`] completes and documents, with [`completeness`], [`completions`] and [`documentation`]; [`paths`] completes what is not Rust;
//!   [`tokens`] is their lexer;
//! - [`diagnostics`] turns failures into messages; [`mod@outcome`] says how a cell ended;
//! - [`registry`] asks cargo for names of packages;
//! - [`limits`] finds cells that are too large; [`interrupt`] stops a cell; [`preloaded`] is the crate `taper`.

mod ahead;
mod awaited;
mod cells_manifest;
mod commands;
mod completeness;
mod completions;
mod definitions;
mod dependencies;
mod diagnostics;
mod documentation;
mod editor;
mod engine;
mod idle;
mod interrupt;
mod library;
mod limits;
mod names;
mod needs;
mod outcome;
mod paths;
mod preloaded;
mod registry;
mod shell;
mod tokens;
mod unfinished;
mod variables;

use crate::workspace::Workspace;
use anyhow::{Context as _, Result};
use awaited::Awaited;
pub use completeness::of as is_complete;
use diagnostics::Context;
pub(crate) use diagnostics::error as cell_error;
pub use diagnostics::sentences;
use editor::CellEditor;
pub use engine::is_own;
use engine::{Code, Engine, How, Own, Ran, Running};
pub(crate) use engine::{Start, VARIABLE as ENGINE};
use interrupt::Interrupter;
use names::{Changes, Names, Outcome};
pub use outcome::error_of;
use outcome::{interrupted, outcome};
use preloaded::{PRELUDE, PreloadedCrate};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use taper_evaluator::run::Times;
use taper_evaluator::{
    CellError, CellName, Editor, Evaluator, Event, Front, Interrupt, Late, StaleCell, Variable,
};
use taper_host::lock::Lock;
use taper_rust_cell::commands::Cell;

/// The cell that sets the value of a control, where the engine compiles it once.
const UPDATE_WIDGET: &str = "taper::notebook::update_widget(&::cell_support::argument(0), \
     &::cell_support::argument(1));";

/// An engine, the process in which its cells run, and what is known about them.
pub struct Session {
    engine: Box<dyn Engine>,
    preloaded: Arc<PreloadedCrate>,
    names: Names,
    interrupter: Arc<Interrupter>,
    /// The folder in which packages are compiled.
    folder: PathBuf,
    ahead: ahead::Ahead,
    /// The cell of the notebook that runs.
    cell: Option<CellName>,
    /// The sources of the cells that have run to their end, by their ids, as digests.
    done: HashMap<String, u64>,
    /// When the last cell ended, until memory was freed after it.
    last_cell: Option<Instant>,
    /// How long the last cell took.
    times: Option<Times>,
    /// Whether the lines of the cell are measured, and what the last measured ones took.
    is_profiled: bool,
    profile: Option<taper_engine::Profile>,
    /// The code of the last compile error, such as `E0308`.
    last_error: Option<String>,
    /// The library `taper`, while it is compiled. It has the session's folder until then.
    awaited: Option<Awaited>,
    /// The session's folder. It is removed when this is dropped, after the engine.
    work: Option<Workspace>,
    /// Keeps the image from being removed.
    image: Option<Lock>,
}

/// Returns the message for a cell of Taper's own that fails.
pub(crate) fn own_cell(code: &str) -> String {
    format!("the cell `{code}` failed")
}

impl Session {
    /// Makes the session the owner of its folder, which it removes when it ends, and a user of its image.
    pub(crate) fn keeping(mut self, work: Workspace, image: Lock) -> Self {
        self.work = Some(work);
        self.image = Some(image);
        self
    }

    /// Starts a session that runs plain Rust until the image is built. `taper` is the folder of the crate.
    pub(crate) fn start_without_library(work: Workspace, taper: &Path) -> Result<Session> {
        let start = Start {
            work: &work.path(),
            taper: taper.canonicalize().unwrap_or_else(|_| taper.to_owned()),
            features: Vec::new(),
            library: None,
        };
        let mut session = Session::start(&start)?;
        session.awaited = Some(Awaited::new(work, taper));
        Ok(session)
    }

    /// Starts a session that has run `use taper::prelude::*`, if there is an image.
    pub(crate) fn start(start: &Start) -> Result<Session> {
        let engine = engine::start(start)?;
        let interrupter = Arc::new(Interrupter::new(engine.cells()));
        let preloaded = Arc::new(PreloadedCrate::new(start.taper.clone()));
        let mut session = Session {
            engine,
            preloaded,
            names: Names::default(),
            interrupter,
            folder: start.work.to_owned(),
            ahead: ahead::Ahead::new(|name| std::env::var_os(name)),
            cell: None,
            done: HashMap::new(),
            last_cell: Some(Instant::now()),
            times: None,
            is_profiled: false,
            profile: None,
            last_error: None,
            awaited: None,
            work: None,
            image: None,
        };
        if start.library.is_some() {
            let first_cell = session.first_cell();
            let result = session.run(&first_cell, &mut Silent);
            result.with_context(|| own_cell(&first_cell))?;
        }
        Ok(session)
    }

    fn first_cell(&self) -> String {
        self.engine.first_cell(PRELUDE)
    }

    fn run(&mut self, code: &str, front: &mut dyn Front) -> Result<(), CellError> {
        self.run_as(code, How::Once, front)
    }

    fn run_as(&mut self, code: &str, how: How, front: &mut dyn Front) -> Result<(), CellError> {
        let code = Code {
            text: code,
            cell: None,
            how,
        };
        self.run_code(code, front).0
    }

    fn run_code(&mut self, code: Code, front: &mut dyn Front) -> (Result<(), CellError>, Ran) {
        let text = code.text;
        if let Some(error) = diagnostics::dropped(&Context::new(text, &self.names, &[])) {
            return (Err(error), Ran::default());
        }
        self.interrupter.set_begun(false);
        let mut running = Running {
            code: text,
            names: &self.names,
            interrupter: &self.interrupter,
            front,
        };
        let mut ran = self.engine.execute(code, &mut running);
        (self.times, self.profile) = (ran.times, ran.profile.take());
        let Some(error) = ran.error.take() else {
            return (Ok(()), ran);
        };
        let own = engine::own(&mut *self.engine);
        let redefined = own.map_or(Vec::new(), |own| own.would_lose(text));
        let context = Context::new(text, &self.names, &redefined);
        (Err(diagnostics::explain(error, &context)), ran)
    }

    fn own(&mut self) -> Option<&mut Own> {
        engine::own(&mut *self.engine)
    }

    /// Notes that the outputs of the last cell are complete.
    fn end_outputs(&mut self) {
        if let Some(own) = self.own() {
            own.end_outputs();
        }
    }

    /// Returns the execution count of the cell that defines a variable.
    fn maker(&mut self, variable: &str) -> Option<usize> {
        self.own()?.maker(variable)
    }

    /// Reports why a request failed, or that it was stopped.
    fn end_request(
        &mut self,
        result: Result<(), CellError>,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        let result = match (self.interrupter.end_cell(), result) {
            (None, result) => result,
            (Some(stopped), result) => Err(interrupted(stopped, result.err())),
        };
        if let Err(error) = &result {
            let code = error.message.strip_prefix('[');
            let code = code.and_then(|text| text.split_once(']'));
            self.last_error = code
                .map(|(code, _)| code.to_owned())
                .or(self.last_error.take());
            front.event(Event::Error(error.clone()));
        }
        result
    }

    /// Runs a cell of Rust, shell commands and the session's own commands.
    fn run_cell(&mut self, code: &str, front: &mut dyn Front) -> Result<(), CellError> {
        let without = self.preloaded.without_reloading(code);
        let names_library = *without != *code;
        let code = without;
        if let Some(refused) = limits::refusal(&code) {
            return Err(refused);
        }
        let cell = Cell::with_rust(&code, |rest| self.names.negates_a_variable(rest));
        self.run_with_library(&cell, names_library, front)
    }

    /// Runs the commands of a cell, then its Rust.
    fn run_all(&mut self, cell: &Cell, front: &mut dyn Front) -> Result<(), CellError> {
        let rest = self.run_commands(cell, front).inspect_err(|_| {
            let (left, none) = (self.variables(), Changes::default());
            let outcome = Outcome::DidNotBegin;
            self.names.cell_ended(&cell.rest, outcome, left, &none);
        })?;
        if rest.trim().is_empty() {
            return Ok(());
        }
        let code = Code {
            text: &rest,
            cell: self.cell.take(),
            how: match self.is_profiled {
                true => How::Profiled,
                false => How::Once,
            },
        };
        let (
            result,
            Ran {
                changes, frozen, ..
            },
        ) = self.run_code(code, front);
        self.report_lost(&changes.lost, front);
        let outcome = outcome(&result, self.interrupter.is_asked_to_stop());
        self.names
            .cell_ended(&rest, outcome, self.variables(), &changes);
        if result.is_ok() {
            self.report_frozen(frozen, front);
        }
        if cell.clear && result.is_ok() && self.awaited.is_none() {
            return self.run(&self.first_cell(), &mut Silent);
        }
        result
    }

    /// Runs shell commands, a restart, `:dep` lines and the session's own commands. Returns the rest of the cell.
    fn run_commands(&mut self, cell: &Cell, front: &mut dyn Front) -> Result<String, CellError> {
        for command in &cell.shell {
            self.run_shell(&shell::Script::line(command), front)?;
        }
        if cell.restart {
            self.replace_cells_process("", front);
        }
        let mut packages = cell.dependencies.clone();
        packages.extend(cells_manifest::extern_crates(&cell.rest, &self.folder));
        if !packages.is_empty() {
            self.add_packages(&packages, front)?;
            if self.interrupter.is_asked_to_stop() {
                return Err(diagnostics::error("Interrupted", "", None));
            }
        }
        self.run_lines(&cell.rest, front)
    }

    /// Ends the cells process, and shows the user the reason `why` and that all variables are lost.
    fn replace_cells_process(&mut self, why: &str, front: &mut dyn Front) {
        self.engine.end_process();
        let left = self.variables();
        let none = Changes::default();
        self.names
            .cell_ended("", Outcome::ProcessEnded, left, &none);
        front.event(Event::stdout(format!(
            "{why}The process in which cells run was restarted; all variables are lost.\n"
        )));
    }

    fn run_shell(&self, script: &shell::Script, front: &mut dyn Front) -> Result<(), CellError> {
        shell::run(script, &self.interrupter, &mut |event| front.event(event))
    }
}

impl Evaluator for Session {
    fn execute(
        &mut self,
        code: &str,
        cell: Option<&CellName>,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        if code.trim().is_empty() {
            return Ok(());
        }
        self.ahead.stop();
        self.interrupter.begin_cell();
        self.cell = cell.cloned();
        let result = self.run_request(code, front);
        self.cell = None;
        let result = self.end_request(result, front);
        self.end_outputs();
        self.last_cell = Some(Instant::now());
        if let Some(id) = cell.and_then(|cell| cell.id.as_deref()) {
            self.note_run(id, code, result.is_ok());
        }
        if let (Some(cell), Ok(())) = (cell, &result) {
            self.ahead.ran(cell.id.clone(), code);
        }
        result
    }

    fn idle(&mut self) -> Option<Duration> {
        let pauses = [self.look_for_library(), self.compile_ahead()];
        pauses.into_iter().flatten().min()
    }

    fn set_late(&mut self, late: Arc<dyn Late>) {
        if let Some(own) = self.own() {
            own.set_late(late);
        }
    }

    fn stale(&mut self) -> Option<Vec<StaleCell>> {
        Some(self.own()?.stale())
    }

    fn set_order(&mut self, cells: &[String]) {
        if let Some(own) = self.own() {
            own.set_order(cells);
        }
    }

    fn needed(&mut self, cells: &[(String, String)], id: &str) -> Vec<String> {
        self.needed_cells(cells, id)
    }

    fn update_widget(
        &mut self,
        id: &str,
        value: &str,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        if self.own().is_none() {
            let update = format!("taper::notebook::update_widget({id:?}, {value:?});");
            return self.execute(&update, None, front);
        }
        self.ahead.pause();
        self.interrupter.begin_cell();
        let arguments = [id.to_owned(), value.to_owned()];
        let result = self.run_as(UPDATE_WIDGET, How::Repeated(&arguments), front);
        let result = self.end_request(result, front);
        self.end_outputs();
        result
    }

    fn inspect_variables(&mut self, with_values: bool) -> Vec<Variable> {
        self.list_variables(with_values)
    }

    fn editor(&self) -> Arc<dyn Editor> {
        Arc::new(CellEditor::new(
            self.engine.editor(),
            self.preloaded.clone(),
        ))
    }

    fn interrupter(&self) -> Arc<dyn Interrupt> {
        self.interrupter.clone()
    }
}

/// A front that ignores events and answers no questions.
pub(crate) struct Silent;

impl Front for Silent {
    fn event(&mut self, _event: Event) {}

    fn input(&mut self, _prompt: &str, _password: bool) -> Option<String> {
        None
    }
}
