//! Our own engine, `taper-engine`, with what a session adds to it: packages, the editor, and messages.
//!
//! - [`advice`] mends what rustc suggests;
//! - [`configuration`] finds the compiled packages of the session;
//! - [`late`] passes on what threads print after their cell;
//! - [`editor`] completes names and shows documentation;
//! - [`output`] is what a cell prints and shows, with [`tables`] as HTML;
//! - [`messages`] turns what the engine reports into the session's errors;
//! - [`packages`] compiles those of `:dep` lines, and forgets them;
//! - [`stale`] compares what cells have seen.

mod advice;
mod configuration;
mod editor;
mod late;
mod messages;
mod output;
mod packages;
mod stale;
mod tables;

use super::interface::{Code, Engine, How, Ran, Running, Start};
use crate::cells;
use crate::image::{self, Packages};
use crate::session::cells_manifest::Declared;
use crate::session::diagnostics::rustc::Reader;
use crate::session::diagnostics::{Diagnostic, EngineError};
use crate::session::interrupt::Cells;
use anyhow::{Context, Result};
use editor::OwnEditor;
use late::LateOutput;
use output::Output;
use stale::CellGraph;
use std::path::PathBuf;
use std::sync::Arc;
use taper_engine::{Event, Failure, Outcome};
use taper_evaluator::event::thread_panic;
use taper_evaluator::{Editor, Late, StaleCell};
use taper_rust_cell::commands::{blank_out, is_colon_command};

/// An engine of our own.
pub(crate) struct Own {
    engine: taper_engine::Engine,
    output: Output,
    late: LateOutput,
    /// The folder in which packages are compiled.
    work: PathBuf,
    /// The shared library `taper`, if there is an image.
    library: Option<PathBuf>,
    packages: Packages,
    /// What was declared before the first package was added.
    declared_first: Option<Declared>,
    cells: CellGraph,
    editor: Arc<OwnEditor>,
    /// Whether the editor knows the types of all variables.
    is_settled: bool,
}

impl Own {
    /// Starts the engine, with the packages of the image in `work` if there is one.
    pub(super) fn start(start: &Start) -> Result<Own> {
        let work = start.work;
        // The process that runs the cells could not say it.
        cells::limit()?;
        configuration::write_manifest(start)?;
        let mut config = configuration::of(work)?;
        if start.library.is_some() {
            (config.packages, config.search) = configuration::of_image(work)?;
            config.libraries = image::added(work).ok();
        }
        let engine = taper_engine::Engine::start(config);
        let mut engine = engine.context(super::DOES_NOT_START)?;
        let late = LateOutput::default();
        let receiver = late.clone();
        engine.set_late(move |cell, event| receiver.event(cell, event));
        Ok(Own {
            engine,
            output: Output::default(),
            late,
            work: work.to_owned(),
            library: start.library.clone(),
            packages: Packages::new(work),
            declared_first: None,
            cells: CellGraph::default(),
            editor: OwnEditor::start(work),
            is_settled: false,
        })
    }

    /// Starts the process that runs the cells again, with the session's current environment.
    fn restart(&mut self) -> Result<()> {
        self.cells.clear();
        let environment = configuration::environment();
        self.engine.set_cell_environment(environment);
        let restarted = self.engine.restart_process().map(drop);
        self.editor.set_scope(self.engine.scope());
        restarted
    }

    /// Finds the line of an earlier cell, where an item of that cell has failed.
    fn line_of_earlier_cell(&self, outcome: &Outcome) -> Option<String> {
        let (Failure::Panic(fault) | Failure::Failed(fault)) = outcome.failure.as_ref()? else {
            return None;
        };
        let place = fault.place.filter(|place| place.cell != outcome.number)?;
        self.engine.line(place)
    }

    /// Runs a command that concerns the engine; returns `None` for any other code.
    fn command(&mut self, code: &str) -> Option<Ran> {
        let done = match code.trim().split(' ').next()? {
            ":restart" => self.restart(),
            ":clear" => self.clear(),
            _ => return None,
        };
        let error = done.err().map(messages::engine_error);
        Some(Ran {
            error,
            ..Ran::default()
        })
    }

    /// Evaluates code.
    fn evaluate(&mut self, code: Code, running: &mut Running) -> Ran {
        let source = blank_out(code.text, is_colon_command);
        let Own {
            engine,
            output,
            late,
            ..
        } = self;
        let number = engine.next_number();
        for event in late.begin(number, code.cell.as_ref()) {
            running.event(event);
        }
        let reader = Reader {
            number,
            code: code.text,
        };
        let mut profile = None;
        let mut listen = |event| {
            match event {
                Event::Begin => running.begun(),
                Event::Shown(event) => output.event(event),
                Event::Value { mime_type, text } => output.value(mime_type, text),
                Event::CaughtPanic(fault) => output.caught(&fault.message),
                Event::Warnings(warnings) => running.warnings(reader.warnings(&warnings)),
                Event::ThreadPanic { thread, fault } => {
                    let line = messages::line(&fault, number);
                    output.event(thread_panic(thread.as_deref(), line, &fault.message));
                }
                Event::Profile(measured) => profile = Some(measured),
                Event::Input(question) => {
                    let prompt = output.prompt();
                    pass_on(output, running);
                    question.answer(running.input(&prompt.text, prompt.password));
                }
                _ => {}
            }
            pass_on(output, running);
        };
        let mut outcome = match code.how {
            How::Repeated(arguments) => engine.repeat(&source, arguments, &mut listen),
            How::Profiled => engine.profile(&source, &mut listen),
            How::Once => engine.evaluate(&source, &mut listen),
        };
        self.cells.record(code.cell, &source, &mut outcome);
        if let Some(Failure::Compile(errors)) = &mut outcome.failure {
            for error in errors {
                let variables = self.engine.variables().map(|variable| &*variable.name);
                advice::mend(error, number, code.text, variables);
            }
        }
        let mut ran = Ran {
            times: outcome.times,
            profile,
            ..self.changes(&outcome)
        };
        let earlier = self.line_of_earlier_cell(&outcome);
        let error = match outcome.failure {
            Some(Failure::Left) => Some(EngineError::Left(outcome.lost)),
            failure => failure.map(|it| messages::error(it, earlier, reader)),
        };
        ran.error = error.map(|error| match error {
            EngineError::Compile(errors) => EngineError::Compile(self.advised(errors)),
            EngineError::Ended(end) => EngineError::Ended(self.output.ended(end)),
            error => error,
        });
        self.output.complete();
        pass_on(&mut self.output, running);
        ran
    }

    /// Returns what a cell has done to the variables of earlier cells.
    fn changes(&self, outcome: &Outcome) -> Ran {
        let mut ran = Ran::default();
        ran.changes.moved = Some(outcome.moved.clone());
        if !matches!(
            outcome.failure,
            Some(Failure::Ended(_) | Failure::Left | Failure::Interrupted { .. })
        ) {
            ran.changes.lost.clone_from(&outcome.lost);
            let variables = self.engine.variables();
            let frozen = variables.filter(|variable| outcome.frozen.contains(&variable.name));
            ran.frozen = frozen
                .map(|variable| (variable.name.clone(), messages::borrowers(variable)))
                .collect();
        }
        ran
    }

    /// Adds to errors what is known about the variables in them.
    fn advised(&self, mut errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let frozen = self.engine.variables().filter(|it| it.is_frozen);
        let frozen: Vec<_> = frozen
            .map(|it| (it.clone(), self.cells.maker(&it.name)))
            .collect();
        for error in &mut errors {
            advice::about_frozen(error, &frozen);
            advice::about_gone(error, |name| self.engine.gone(name));
        }
        errors
    }

    /// Sets who receives what threads print after their cell.
    pub(crate) fn set_late(&mut self, late: Arc<dyn Late>) {
        self.late.set_receiver(late);
    }

    /// Notes that the outputs of the last cell are complete: what its threads print from now on comes after them.
    pub(crate) fn end_outputs(&mut self) {
        self.late.end();
    }

    /// Begins to compile a cell that may run next: see [`taper_engine::Engine::compile_ahead`].
    pub(crate) fn compile_ahead(&mut self, code: &str) -> Option<taper_engine::Ahead> {
        self.engine
            .compile_ahead(&blank_out(code, is_colon_command))
    }

    /// Returns the variables that this cell loses if it runs, because it changes their type.
    pub(crate) fn would_lose(&self, code: &str) -> Vec<String> {
        self.engine.would_lose(&blank_out(code, is_colon_command))
    }

    /// Returns the cells that are stale.
    pub(crate) fn stale(&self) -> Vec<StaleCell> {
        self.cells.stale()
    }

    /// Returns whether a cell has run, and its variables are not lost.
    pub(crate) fn has_run(&self, id: &str) -> bool {
        self.cells.contains(id)
    }

    /// Sets the order of the cells in the notebook, by their ids.
    pub(crate) fn set_order(&mut self, cells: &[String]) {
        self.cells.set_order(cells);
    }

    /// Returns the execution count of the cell that defines a variable.
    pub(crate) fn maker(&self, variable: &str) -> Option<usize> {
        self.cells.maker(variable)
    }

    /// Does a little for the editor while there is no request. Returns whether there is more to do.
    pub(crate) fn idle(&mut self) -> bool {
        if self.is_settled {
            return false;
        }
        self.is_settled = self.engine.try_settle();
        if self.is_settled {
            self.editor.set_scope(self.engine.scope());
        }
        !self.is_settled
    }

    /// Frees memory, because no request has come for a while.
    pub(crate) fn rest(&mut self) {
        self.engine.rest();
    }
}

impl Engine for Own {
    fn execute(&mut self, code: Code, running: &mut Running) -> Ran {
        if let How::Repeated(_) = code.how {
            return self.evaluate(code, running);
        }
        if let Some(ran) = self.command(code.text) {
            return ran;
        }
        self.editor.note_cell();
        let ran = self.evaluate(code, running);
        // The types of its variables may follow.
        self.editor.set_scope(self.engine.scope());
        self.is_settled = false;
        self.editor.note_cell();
        ran
    }

    fn end_process(&mut self) {
        // If it does not start, the next cell says so.
        let _ = self.restart();
    }

    fn variables(&self) -> Vec<(String, String)> {
        let variables = self.engine.variables();
        variables
            .map(|variable| (variable.name.clone(), messages::kind(variable)))
            .collect()
    }

    fn type_of(&mut self, expression: &str) -> Option<String> {
        let mut variables = self.engine.variables();
        let known = variables.find(|variable| variable.name == expression);
        let known = known.map(|variable| variable.kind.clone());
        drop(variables);
        let kind = known.or_else(|| self.engine.type_of(expression));
        kind.map(|kind| messages::short(&kind))
    }

    fn editor(&self) -> Arc<dyn Editor> {
        self.editor.clone()
    }

    fn cells(&self) -> Box<dyn Cells> {
        Box::new(self.engine.interrupter())
    }
}

impl Cells for taper_engine::Interrupter {
    fn interrupt(&self) -> bool {
        taper_engine::Interrupter::interrupt(self)
    }

    fn kill(&self) {
        taper_engine::Interrupter::kill(self);
    }

    fn stop_ahead(&self) {
        taper_engine::Interrupter::interrupt(self);
    }
}

/// Passes on what the cell has printed and shown so far.
fn pass_on(output: &mut Output, running: &mut Running) {
    for event in output.take() {
        running.event(event);
    }
}
