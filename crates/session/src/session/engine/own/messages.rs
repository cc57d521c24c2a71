//! Turns what the engine reports into what the session knows.

use crate::session::diagnostics::failure;
use crate::session::diagnostics::rustc::Reader;
use crate::session::diagnostics::{EngineError, of_crate, private};
use taper_engine::{Failure, Fault, Refusal, Variable};
use taper_evaluator::run::{End, Failed};

/// Returns why a cell did not run to its end. `earlier` is the line of an earlier cell that has failed.
pub(super) fn error(failure: Failure, earlier: Option<String>, reader: Reader) -> EngineError {
    let failed = |failed, fault: Fault| {
        let line = line(&fault, reader.number);
        EngineError::Failed(failure::Failure::new(failed, fault.message, line, earlier))
    };
    match failure {
        Failure::Panic(fault) if fault.is_error => failed(Failed::Raised, fault),
        Failure::Panic(fault) => failed(Failed::Panic, fault),
        Failure::Failed(fault) => failed(Failed::QuestionMark, fault),
        Failure::Ended(end) => EngineError::Ended(end),
        Failure::Compile(errors) => EngineError::Compile(reader.errors(&errors)),
        Failure::Refused(Refusal::Attribute(attribute)) => {
            EngineError::Compile(vec![of_crate(&attribute, reader.code)])
        }
        Failure::Refused(Refusal::NamelessType { variable, .. }) => {
            EngineError::Compile(vec![private(&variable, reader.code)])
        }
        Failure::Interrupted { is_killed: true } => EngineError::Ended(End::default()),
        Failure::Interrupted { is_killed: false } => EngineError::Message("interrupted".to_owned()),
        Failure::Engine(error) => engine_error(error),
        failure => EngineError::Message(format!("{failure:?}")),
    }
}

/// Returns why the engine itself failed.
pub(super) fn engine_error(error: anyhow::Error) -> EngineError {
    match error.downcast::<taper_engine::CompilerFailed>() {
        Ok(failed) => EngineError::Compiler(failed.output),
        Err(error) => EngineError::Message(format!("{error:#}")),
    }
}

/// Returns the line of a fault, if it is in the cell.
pub(super) fn line(fault: &Fault, number: u32) -> Option<usize> {
    let place = fault.place.filter(|place| place.cell == number);
    place.map(|place| place.line)
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
