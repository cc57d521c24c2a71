//! Our own engine, `taper-engine`, with what a session adds to it: `taper`'s records, input, and messages.
//!
//! - [`advice`] mends what rustc suggests;
//! - [`configuration`] finds the compiled packages of the session;
//! - [`late`] passes on what threads print after their cell;
//! - [`editor`] completes names and shows documentation;
//! - [`messages`] turns what the engine reports into the session's errors;
//! - [`packages`] compiles those of `:dep` lines, and forgets them;
//! - [`stale`] compares what cells have seen.

mod advice;
mod configuration;
mod editor;
mod late;
mod messages;
mod packages;
mod stale;

use super::input::InputRequest;
use super::interface::{Added, Engine, EngineEvent, How, Listen, Start};
use super::output::{Output, Piece};
use crate::cells::{self, Answer};
use crate::error::{Error, Result};
use crate::image::Packages;
use crate::session::cells_manifest::Declared;
use crate::session::diagnostics::EngineError;
use crate::session::diagnostics::rustc::Reader;
use crate::session::interrupt::Cells;
use crate::session::names::Changes;
use configuration::Answers;
use editor::{OwnEditor, is_option};
use late::LateOutput;
use stale::CellGraph;
use std::path::PathBuf;
use std::sync::Arc;
use taper_engine::{Event, Failure, Outcome};
use taper_evaluator::Editor;
use taper_evaluator::commands::blank_out;
use taper_evaluator::evaluator::{CellName, Late, StaleCell};
use taper_evaluator::event::{MimeBundle, Stream};
use taper_evaluator::record::Record;
use taper_host::progress::Progress;

/// An engine of our own.
pub(super) struct Own {
    engine: taper_engine::Engine,
    output: Output,
    late: LateOutput,
    /// Begins the records of cells.
    secret: String,
    /// Where answers to requests for input go.
    answers: Answers,
    /// The folder in which packages are compiled.
    work: PathBuf,
    /// The shared library `taper`.
    library: PathBuf,
    packages: Packages,
    /// What was declared before the first package was added.
    declared_first: Option<Declared>,
    /// The line of an earlier cell in which the last cell has failed.
    earlier_line: Option<String>,
    changes: Changes,
    /// The variables that the last cell has frozen.
    frozen: Vec<String>,
    /// The cell of the notebook that runs next.
    cell: Option<CellName>,
    cells: CellGraph,
    editor: Arc<OwnEditor>,
    /// Whether the editor knows the types of all variables.
    is_settled: bool,
}

impl Own {
    /// Starts the engine with the packages that are compiled in `work`.
    pub(super) fn start(start: &Start) -> Result<Own> {
        let (work, library) = (start.work, &*start.library);
        // The process that runs the cells could not say it.
        cells::limit()?;
        configuration::write_manifest(start)?;
        let secret = uuid::Uuid::new_v4().simple().to_string();
        let (answers, config) = configuration::of(work, library, &secret)?;
        let engine = taper_engine::Engine::start(config);
        let mut engine =
            engine.map_err(|error| Error::Start(taper_host::error::describe(&error)))?;
        let late = LateOutput::new(&secret);
        let receiver = late.clone();
        engine.set_late(move |cell, event| receiver.event(cell, event));
        Ok(Own {
            engine,
            output: Output::new(&secret),
            late,
            secret,
            answers,
            work: work.to_owned(),
            library: library.to_owned(),
            packages: Packages::new(work),
            declared_first: None,
            earlier_line: None,
            changes: Changes::default(),
            frozen: Vec::new(),
            cell: None,
            cells: CellGraph::default(),
            editor: OwnEditor::start(work),
            is_settled: false,
        })
    }

    /// Starts the process that runs the cells again, with the session's current environment.
    fn restart(&mut self) -> Result<(), taper_engine::Error> {
        self.cells.clear();
        let environment = configuration::environment(&self.answers, &self.secret, &self.library);
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
    fn command(&mut self, code: &str) -> Option<Result<MimeBundle, EngineError>> {
        let done = match code.trim().split(' ').next()? {
            ":restart" => self.restart(),
            ":clear" => self.clear(),
            _ => return None,
        };
        Some(
            done.map(|()| MimeBundle::new())
                .map_err(messages::engine_error),
        )
    }

    /// Runs a cell of the user.
    fn run(
        &mut self,
        code: &str,
        how: How,
        listen: &mut Listen,
    ) -> Result<MimeBundle, EngineError> {
        self.earlier_line = None;
        if let Some(result) = self.command(code) {
            return result;
        }
        self.editor.note_cell();
        let result = self.evaluate(code, how, listen);
        // The types of its variables may follow.
        self.editor.set_scope(self.engine.scope());
        self.is_settled = false;
        self.editor.note_cell();
        result
    }

    /// Evaluates a cell.
    fn evaluate(
        &mut self,
        code: &str,
        how: How,
        listen: &mut Listen,
    ) -> Result<MimeBundle, EngineError> {
        let source = blank_out(code, is_option);
        let Own {
            engine,
            output,
            late,
            answers,
            ..
        } = self;
        let number = engine.next_number();
        for record in late.begin(number, self.cell.as_ref()) {
            listen(EngineEvent::Record(record));
        }
        let reader = Reader { number, code };
        let name = taper_engine::file_of_cell(&source);
        let mut pass_on_event = |event| {
            match event {
                Event::Begin => listen(EngineEvent::Record(Record::Begin)),
                Event::Text { stream, text } => match stream {
                    Stream::Stdout => output.stdout(&text),
                    Stream::Stderr => output.stderr(&text),
                },
                Event::Value { mime_type, text } => output.value(mime_type, text),
                Event::CaughtPanic(fault) => output.caught(&fault.message),
                Event::Warnings(warnings) => {
                    let warnings = reader.warnings(&warnings);
                    if !warnings.is_empty() {
                        listen(EngineEvent::Warnings(warnings));
                    }
                }
                Event::ThreadPanic { thread, fault } => listen(EngineEvent::ThreadPanic {
                    thread,
                    line: messages::line(&fault, number),
                    message: fault.message,
                }),
                Event::Profile(profile) => listen(EngineEvent::Profile(profile)),
                _ => {}
            }
            pass_on(output, answers, &name, listen);
        };
        let mut outcome = match how {
            How::Repeated(arguments) => engine.repeat(&source, arguments, &mut pass_on_event),
            How::Profiled => engine.profile(&source, &mut pass_on_event),
            How::Once => engine.evaluate(&source, &mut pass_on_event),
        };
        let is_stopped = matches!(
            outcome.failure,
            Some(Failure::Ended(_) | Failure::Left | Failure::Interrupted { .. })
        );
        self.changes = Changes {
            lost: outcome.lost.clone(),
            moved: Some(outcome.moved.clone()),
        };
        match is_stopped {
            true => self.changes.lost.clear(),
            false => self.frozen.clone_from(&outcome.frozen),
        }
        self.cells.record(self.cell.take(), &source, &mut outcome);
        if let Some(Failure::Compile(errors)) = &mut outcome.failure {
            for error in errors {
                let variables = self.engine.variables().map(|variable| &*variable.name);
                advice::mend(error, outcome.number, code, variables);
            }
        }
        let frozen = self.engine.variables().filter(|it| it.is_frozen);
        let frozen: Vec<_> = frozen
            .map(|it| (it.clone(), self.cells.maker(&it.name)))
            .collect();
        self.earlier_line = self.line_of_earlier_cell(&outcome);
        let mut result = finish(&mut self.output, outcome, reader, listen);
        if let Err(EngineError::Compile(errors)) = &mut result {
            for error in errors {
                advice::about_frozen(error, &frozen);
                advice::about_gone(error, |name| self.engine.gone(name));
            }
        }
        pass_on(&mut self.output, &mut self.answers, &name, listen);
        result
    }
}

impl Engine for Own {
    fn execute(&mut self, code: &str, listen: &mut Listen) -> Result<MimeBundle, EngineError> {
        self.run(code, How::Once, listen)
    }

    fn can_profile(&self) -> bool {
        true
    }

    fn profile(&mut self, code: &str, listen: &mut Listen) -> Result<MimeBundle, EngineError> {
        self.run(code, How::Profiled, listen)
    }

    fn set_late(&mut self, late: Arc<dyn Late>) {
        self.late.set_receiver(late);
    }

    fn end_outputs(&mut self) {
        self.late.end();
    }

    fn add_packages(
        &mut self,
        dependencies: &[(&str, &str)],
        progress: &mut dyn Progress,
    ) -> Option<Result<Added, EngineError>> {
        Some(self.compile_packages(dependencies, progress))
    }

    fn can_repeat(&self) -> bool {
        true
    }

    fn repeat(
        &mut self,
        code: &str,
        arguments: &[String],
        listen: &mut Listen,
    ) -> Result<MimeBundle, EngineError> {
        self.evaluate(code, How::Repeated(arguments), listen)
    }

    fn end_process(&mut self) -> Result<(), EngineError> {
        self.restart().map_err(messages::engine_error)
    }

    fn compile_ahead(&mut self, code: &str) -> Option<taper_engine::Ahead> {
        self.engine.compile_ahead(&blank_out(code, is_option))
    }

    fn variables(&self) -> Vec<(String, String)> {
        let variables = self.engine.variables();
        variables
            .map(|variable| (variable.name.clone(), messages::kind(variable)))
            .collect()
    }

    fn frozen(&mut self) -> Vec<(String, String)> {
        let last = std::mem::take(&mut self.frozen);
        let variables = self.engine.variables();
        let frozen = variables.filter(|variable| last.contains(&variable.name));
        frozen
            .map(|variable| (variable.name.clone(), messages::borrowers(variable)))
            .collect()
    }

    fn changes(&mut self) -> Changes {
        std::mem::take(&mut self.changes)
    }

    fn would_lose(&self, code: &str) -> Vec<String> {
        self.engine.would_lose(&blank_out(code, is_option))
    }

    fn begin_cell(&mut self, cell: CellName) {
        self.cell = Some(cell);
    }

    fn stale(&self) -> Option<Vec<StaleCell>> {
        Some(self.cells.stale())
    }

    fn has_run(&self, id: &str) -> bool {
        self.cells.contains(id)
    }

    fn set_order(&mut self, cells: &[String]) {
        self.cells.set_order(cells);
    }

    fn maker(&self, variable: &str) -> Option<usize> {
        self.cells.maker(variable)
    }

    fn earlier_line(&mut self) -> Option<String> {
        self.earlier_line.take()
    }

    fn editor(&self) -> Arc<dyn Editor> {
        self.editor.clone()
    }

    fn idle(&mut self) -> bool {
        if self.is_settled {
            return false;
        }
        self.is_settled = self.engine.try_settle();
        if self.is_settled {
            self.editor.set_scope(self.engine.scope());
        }
        !self.is_settled
    }

    fn rest(&mut self) {
        self.engine.rest();
    }

    fn type_of(&mut self, expression: &str) -> Option<String> {
        let mut variables = self.engine.variables();
        let known = variables.find(|variable| variable.name == expression);
        let known = known.map(|variable| variable.kind.clone());
        drop(variables);
        let kind = known.or_else(|| self.engine.type_of(expression));
        kind.map(|kind| messages::short(&kind))
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

/// Passes on what the cell has printed so far.
fn pass_on(output: &mut Output, answers: &mut Answers, name: &str, listen: &mut Listen) {
    for piece in output.take() {
        match piece {
            Piece::Record(record) => listen(EngineEvent::Record(messages::in_cell(record, name))),
            Piece::Input(prompt) => {
                let (request, answer) = InputRequest::new(prompt.text, prompt.password);
                listen(EngineEvent::InputRequest(request));
                answers.send(&answer.recv().unwrap_or(Answer::End));
            }
        }
    }
}

/// Reports how a cell ended.
fn finish(
    output: &mut Output,
    outcome: Outcome,
    reader: Reader,
    listen: &mut Listen,
) -> Result<MimeBundle, EngineError> {
    if let Some(times) = outcome.times {
        listen(EngineEvent::Record(Record::Ran(times)));
    }
    let result = match outcome.failure {
        None => Ok(MimeBundle::new()),
        Some(Failure::Panic(fault)) => {
            output.ended_with(messages::panic(fault, outcome.number));
            Ok(MimeBundle::new())
        }
        Some(Failure::Failed(fault)) => {
            output.ended_with(messages::failed(fault, outcome.number));
            Ok(MimeBundle::new())
        }
        Some(Failure::Ended(end)) => {
            output.ended(&end);
            return Err(EngineError::Ended(messages::status(&end)));
        }
        Some(Failure::Left) => Err(EngineError::Left(outcome.lost)),
        Some(failure) => Err(messages::error(failure, reader)),
    };
    output.complete();
    result
}
