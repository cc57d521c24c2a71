//! Turns what the engine reports into what the session knows.

use crate::session::diagnostics::rustc::Reader;
use crate::session::diagnostics::{EngineError, of_crate, private};
use taper_engine::{Failure, Fault, Refusal, Variable};
use taper_evaluator::record::{End, Record};

/// Returns why a cell did not run to its end.
pub(super) fn error(failure: Failure, reader: Reader) -> EngineError {
    match failure {
        Failure::Compile(errors) => EngineError::Compile(reader.errors(&errors)),
        Failure::Refused(Refusal::Attribute(attribute)) => {
            EngineError::Compile(vec![of_crate(&attribute, reader.code)])
        }
        Failure::Refused(Refusal::NamelessType { variable, .. }) => {
            EngineError::Compile(vec![private(&variable, reader.code)])
        }
        Failure::Interrupted { is_killed: true } => EngineError::Ended("interrupted".to_owned()),
        Failure::Interrupted { is_killed: false } => EngineError::Message("interrupted".to_owned()),
        Failure::Engine(error) => engine_error(error),
        failure => EngineError::Message(format!("{failure:?}")),
    }
}

/// Returns why the engine itself failed.
pub(super) fn engine_error(error: taper_engine::Error) -> EngineError {
    match error {
        taper_engine::Error::Compiler { output, .. } => EngineError::Compiler(output),
        error => EngineError::Message(taper_host::error::describe(&error)),
    }
}

/// Returns the line of a fault, if it is in the cell.
pub(super) fn line(fault: &Fault, number: u32) -> Option<usize> {
    let place = fault.place.filter(|place| place.cell == number);
    place.map(|place| place.line)
}

pub(super) fn panic(fault: Fault, number: u32) -> Record {
    Record::Panic {
        line: line(&fault, number),
        message: fault.message,
        file: None,
        is_error: fault.is_error,
    }
}

pub(super) fn failed(fault: Fault, number: u32) -> Record {
    Record::Failed {
        line: line(&fault, number),
        message: fault.message,
        file: None,
    }
}

/// Returns the type of a variable, and whether others borrow from it.
pub(super) fn kind(variable: &Variable) -> String {
    let kind = short(&variable.kind);
    if !variable.is_frozen {
        return kind;
    }
    let own = kind.strip_prefix("&'static ").unwrap_or(&kind);
    match variable.borrowers.is_empty() {
        true => format!("{own}, frozen"),
        false => format!("{own}, frozen, borrowed by {}", borrowers(variable)),
    }
}

/// Returns the variables that borrow from one: `` `a`, `b` ``.
pub(super) fn borrowers(variable: &Variable) -> String {
    let names = variable.borrowers.iter();
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Returns a type without the paths in it.
pub(super) fn short(kind: &str) -> String {
    let mut short = String::new();
    for (index, part) in kind.split("::").enumerate() {
        if index > 0 {
            let end = short
                .trim_end_matches(|c: char| c == '_' || c.is_alphanumeric())
                .len();
            short.truncate(end);
        }
        short += part;
    }
    short
}

/// Removes the line of a record, unless it is in the cell whose file has this name.
pub(super) fn in_cell(mut record: Record, name: &str) -> Record {
    if let Record::Failed {
        file: Some(file),
        line,
        ..
    } = &mut record
    {
        let last = file.rsplit('/').next().unwrap_or_default();
        *line = line.filter(|_| last.split('.').next() == Some(name));
    }
    record
}

/// Returns the end of the process in words.
pub(super) fn status(end: &End) -> String {
    match (end.code, end.signal) {
        (Some(code), _) => format!("exit status: {code}"),
        (None, Some(signal)) => format!("signal: {signal}"),
        (None, None) => "for an unknown reason".to_owned(),
    }
}
