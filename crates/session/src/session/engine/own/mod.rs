//! Our own engine, `taper-engine`, with what a session adds to it: `taper`'s records, input, and messages.
//!
//! - [`configuration`] finds the compiled packages of the session;
//! - [`messages`] turns what the engine reports into the session's errors;
//! - [`records`] turns what cells print into records.

mod configuration;
mod messages;
mod records;

use super::input::InputRequest;
use super::interface::{Engine, EngineEvent, Listen, Start};
use crate::error::{Error, Result};
use crate::session::dependencies;
use crate::session::diagnostics::EngineError;
use crate::session::interrupt::Cells;
use crate::{image, workspace};
use configuration::Answers;
use records::{Piece, Records};
use std::path::{Path, PathBuf};
use taper_engine::{Event, Failure, Outcome};
use taper_evaluator::commands::{Cell, blank_out};
use taper_evaluator::evaluator::Completions;
use taper_evaluator::event::{MimeBundle, Stream};
use taper_evaluator::record::Record;

/// An engine of our own.
pub(super) struct Own {
    engine: taper_engine::Engine,
    records: Records,
    /// Where answers to requests for input go.
    answers: Answers,
    /// The folder in which packages are compiled.
    work: PathBuf,
    /// The shared library `taper`.
    library: PathBuf,
    /// The dependency on the crate `taper`, as a line of a manifest.
    taper: String,
    /// The source of the last cell.
    source: String,
    lost: Vec<String>,
}

impl Own {
    /// Starts the engine with the packages that are compiled in `work`.
    pub(super) fn start(start: &Start, library: &Path) -> Result<Own> {
        let work = start.work;
        configuration::write_manifest(start)?;
        let secret = uuid::Uuid::new_v4().simple().to_string();
        let (answers, config) = configuration::of(work, library, &secret)?;
        let engine = taper_engine::Engine::start(config);
        Ok(Own {
            engine: engine.map_err(|error| Error::Start(taper_host::error::describe(&error)))?,
            records: Records::new(&secret),
            answers,
            work: work.to_owned(),
            library: library.to_owned(),
            taper: workspace::dependency(&start.taper, &start.features),
            source: String::new(),
            lost: Vec::new(),
        })
    }

    /// Adds the packages of a cell's `:dep` lines, which are compiled already.
    fn add_packages(&mut self, dependencies: &[(&str, &str)]) -> Result<(), EngineError> {
        let describe = |error: &Error| EngineError::Message(taper_host::error::describe(error));
        image::complete(&self.work).map_err(|error| describe(&error))?;
        if dependencies::add(&self.work, dependencies).is_none() {
            return Err(EngineError::Message(
                "the line `:dep` is not valid".to_owned(),
            ));
        }
        let found = image::libraries::of(&self.work).map_err(|error| describe(&error))?;
        let packages = configuration::packages(found, &self.library);
        self.engine
            .set_packages(packages)
            .map_err(messages::engine_error)
    }

    /// Adds the line of an earlier cell to the source, where an item of that cell has panicked.
    fn quote(&mut self, outcome: &Outcome) {
        if let Some(Failure::Panic(fault) | Failure::Failed(fault)) = &outcome.failure
            && let Some(place) = fault.place.filter(|place| place.cell != outcome.number)
            && let Some(line) = self.engine.line(place)
        {
            self.source += "\n";
            self.source += &line;
        }
    }

    /// Runs a command of evcxr that has a meaning here; returns `None` for any other code.
    fn command(&mut self, code: &str) -> Option<Result<MimeBundle, EngineError>> {
        let done = match code.trim().split(' ').next()? {
            ":restart" => {
                let environment =
                    configuration::environment(&self.answers, self.records.secret(), &self.library);
                self.engine.set_cell_environment(environment);
                self.engine.restart_process().map(drop)
            }
            ":clear" => self.engine.clear(),
            ":offline" => Ok(()),
            _ => return None,
        };
        Some(
            done.map(|()| MimeBundle::new())
                .map_err(messages::engine_error),
        )
    }
}

impl Engine for Own {
    fn execute(&mut self, code: &str, listen: &mut Listen) -> Result<MimeBundle, EngineError> {
        code.clone_into(&mut self.source);
        if let Some(result) = self.command(code) {
            return result;
        }
        let mut dependencies = Cell::new(code).dependencies;
        // What the session itself has loaded needs no cargo.
        dependencies.retain(|(name, value)| format!("{name} = {value}") != self.taper);
        if !dependencies.is_empty() {
            self.add_packages(&dependencies)?;
        }
        let source = blank_out(code, is_option);
        let Own {
            engine,
            records,
            answers,
            ..
        } = self;
        let number = engine.next_number();
        let outcome = engine.evaluate(&source, &mut |event| {
            match event {
                Event::Begin => listen(EngineEvent::Record(Record::Begin)),
                Event::Text { stream, text } => match stream {
                    Stream::Stdout => records.stdout(&text),
                    Stream::Stderr => records.stderr(&text),
                },
                Event::Value { mime_type, text } => records.value(mime_type, text),
                Event::CaughtPanic(fault) => records.caught(&fault.message),
                Event::Warnings(warnings) => {
                    let warnings = messages::warnings(&warnings, number, code);
                    if !warnings.is_empty() {
                        listen(EngineEvent::Warnings(warnings));
                    }
                }
                Event::ThreadPanic { thread, fault } => listen(EngineEvent::ThreadPanic {
                    thread,
                    line: messages::line(&fault, number),
                    message: fault.message,
                }),
                _ => {}
            }
            pass_on(records, answers, number, listen);
        });
        if !matches!(
            outcome.failure,
            Some(Failure::Ended(_) | Failure::Interrupted { .. })
        ) {
            self.lost.clone_from(&outcome.lost);
        }
        self.quote(&outcome);
        let line = self.source.lines().count();
        let result = finish(&mut self.records, outcome, (code, line), listen);
        pass_on(&mut self.records, &mut self.answers, number, listen);
        result
    }

    fn variables(&self) -> Vec<(String, String)> {
        let variables = self.engine.variables();
        variables
            .map(|variable| (variable.name.clone(), messages::short(&variable.kind)))
            .collect()
    }

    fn lost(&mut self) -> Option<Vec<String>> {
        Some(std::mem::take(&mut self.lost))
    }

    fn last_source(&self) -> String {
        // Positions are in the cell already.
        self.source.clone()
    }

    fn compiles(&mut self, code: &str) -> bool {
        self.engine.type_of(&format!("{{ {code} }}")).is_some()
    }

    fn complete(&mut self, _code: &str, cursor: usize) -> Completions {
        Completions::none(cursor)
    }

    fn inspect(&mut self, _code: &str, _cursor: usize) -> Option<MimeBundle> {
        None
    }

    fn type_of(&mut self, expression: &str) -> Option<String> {
        let mut variables = self.engine.variables();
        let known = variables.find(|variable| variable.name == expression);
        let known = known.map(|variable| variable.kind.clone());
        drop(variables);
        let kind = known.or_else(|| self.engine.type_of(expression));
        kind.map(|kind| messages::short(&kind))
    }

    fn cells(&self) -> Cells {
        Cells::Own(self.engine.interrupter())
    }
}

/// Returns whether a line is an option of evcxr, such as `:dep` or `:linker`.
fn is_option(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(':') && !line.starts_with("::")
}

/// Passes on what the records so far contain.
fn pass_on(records: &mut Records, answers: &mut Answers, number: u32, listen: &mut Listen) {
    for piece in records.take() {
        match piece {
            Piece::Record(record) => listen(EngineEvent::Record(messages::in_cell(record, number))),
            Piece::Input { prompt, password } => {
                let (request, answer) = InputRequest::new(prompt, password);
                listen(EngineEvent::InputRequest(request));
                answers.send(&answer.recv().unwrap_or_default());
            }
        }
    }
}

/// Reports how a cell ended. `last` is the last line of the source, which may be that of an earlier cell.
fn finish(
    records: &mut Records,
    outcome: Outcome,
    (code, last): (&str, usize),
    listen: &mut Listen,
) -> Result<MimeBundle, EngineError> {
    if let Some(times) = outcome.times {
        listen(EngineEvent::Record(Record::Ran(times)));
    }
    let result = match outcome.failure {
        None => Ok(MimeBundle::new()),
        Some(Failure::Panic(fault)) => {
            records.panic(messages::panic(fault, outcome.number, last));
            Ok(MimeBundle::new())
        }
        Some(Failure::Failed(fault)) => {
            records.failed(messages::failed(fault, outcome.number, last));
            Ok(MimeBundle::new())
        }
        Some(Failure::Ended(end)) => {
            records.ended(&end);
            return Err(EngineError::Ended(messages::status(&end)));
        }
        Some(failure) => Err(messages::error(failure, outcome.number, code)),
    };
    records.complete();
    result
}
