//! Turns what the engine reports into what the session knows: positions in `src/lib.rs` are those of the cell.

use crate::session::diagnostics::failure::SOURCE_FILE;
use crate::session::diagnostics::rustc::{self, CompilerMessage};
use crate::session::diagnostics::{Diagnostic, EngineError, Label, definition};
use crate::session::source_map::SourceMap;
use serde_json::Value;
use taper_engine::{Failure, Fault, Refusal, Span, Variable};
use taper_evaluator::record::{End, Record};

/// Returns why a cell did not run to its end.
pub(super) fn error(failure: Failure, number: u32, code: &str) -> EngineError {
    match failure {
        Failure::Compile(errors) => EngineError::Compile(diagnostics(&errors, number, code)),
        Failure::Refused(Refusal::Borrows { variable, .. }) => {
            let why = "contains a reference with a non-static lifetime";
            EngineError::Compile(vec![Diagnostic {
                is_error: true,
                message: format!("The variable `{variable}` {why}"),
                labels: definition(&variable, code).into_iter().collect(),
                ..Diagnostic::default()
            }])
        }
        Failure::Refused(Refusal::NamelessType { variable, kind, .. }) => {
            let what = match kind.starts_with("{closure") {
                true => "is a closure",
                false => "cannot be persisted",
            };
            EngineError::Message(format!("The variable `{variable}` {what}"))
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

/// Returns the warnings about values that the cell does not use.
pub(super) fn warnings(
    warnings: &[taper_engine::Diagnostic],
    number: u32,
    code: &str,
) -> Vec<Diagnostic> {
    let warnings: Vec<Value> = warnings.iter().map(|it| json(it, number)).collect();
    rustc::warnings(&warnings, &SourceMap::new(code, code))
}

fn diagnostics(errors: &[taper_engine::Diagnostic], number: u32, code: &str) -> Vec<Diagnostic> {
    let map = SourceMap::new(code, code);
    let read = |error: &taper_engine::Diagnostic| {
        let json = json(error, number);
        let mut diagnostic = rustc::read(
            CompilerMessage {
                is_error: true,
                message: json["message"].as_str().unwrap_or_default().to_owned(),
                code: error.code.as_ref().map(|code| &*code.code),
                labels: error
                    .spans
                    .iter()
                    .filter_map(|span| label(span, number))
                    .collect(),
                json: &json,
            },
            &map,
        );
        // A value on a later line is not to blame.
        let mut lines = diagnostic.labels.iter().map(|label| label.start.0);
        let first = lines.next();
        let is_value = !diagnostic.message.contains("found keyword");
        let is_missing = is_value && diagnostic.message.starts_with(SEMICOLON);
        if is_missing && lines.any(|line| Some(line) != first) {
            diagnostic.message.truncate(SEMICOLON.len());
        }
        if is_earlier(error, number) {
            diagnostic.hint = Some(EARLIER.to_owned());
        }
        diagnostic
    };
    let mut errors: Vec<Diagnostic> = errors.iter().map(read).collect();
    if errors.iter().any(|error| !error.labels.is_empty()) {
        errors.retain(|error| !error.labels.is_empty());
    }
    errors
}

/// How rustc begins to say that a semicolon is missing.
const SEMICOLON: &str = "expected `;`";

/// What to do about an error in an item of an earlier cell.
const EARLIER: &str = "this cell changes what that item uses. Change that cell and run it again, or give what this \
                       cell defines another name.";

/// Returns whether a message is about an item of an earlier cell.
fn is_earlier(diagnostic: &taper_engine::Diagnostic, number: u32) -> bool {
    let cell = diagnostic.primary().and_then(|span| span.cell);
    cell.is_some_and(|cell| cell != number)
}

/// Returns the part of the cell that a span is about, within the arguments of a macro also.
fn label(span: &Span, number: u32) -> Option<Label> {
    let mut outer = span;
    while outer.cell != Some(number) {
        outer = &outer.expansion.as_ref()?.span;
    }
    Some(Label {
        start: (outer.line_start, outer.column_start),
        end: (outer.line_end, outer.column_end),
        text: span.label.clone().unwrap_or_default(),
        primary: span.is_primary,
    })
}

/// Returns a message as rustc's JSON, as if the cell was the source. An error in an item of an earlier cell quotes the
/// item.
fn json(diagnostic: &taper_engine::Diagnostic, number: u32) -> Value {
    let mut diagnostic = diagnostic.clone();
    let earlier = diagnostic
        .primary()
        .filter(|_| is_earlier(&diagnostic, number));
    if let Some(line) = earlier.and_then(|span| span.text.first()) {
        let quote = format!(", in an item of an earlier cell: `{}`", line.text.trim());
        diagnostic.message += &quote;
    }
    diagnostic.for_each_span(&mut |span: &mut Span| {
        let is_import = |text: &String| text.starts_with("use ");
        if span.cell == Some(number) {
            SOURCE_FILE.clone_into(&mut span.file_name);
        } else if !span.suggested_replacement.as_ref().is_some_and(is_import) {
            // No line of this cell.
            (span.line_start, span.line_end) = (0, 0);
        }
    });
    serde_json::to_value(diagnostic).unwrap_or_default()
}

/// Returns the line of a fault, if it is in the cell.
pub(super) fn line(fault: &Fault, number: u32) -> Option<usize> {
    let place = fault.place.filter(|place| place.cell == number);
    place.map(|place| place.line)
}

pub(super) fn panic(fault: Fault, number: u32, last: usize) -> Record {
    let line = line_or(&fault, number, last);
    Record::Panic {
        message: fault.message,
        file: line.map(|_| SOURCE_FILE.to_owned()),
        line,
        is_error: fault.is_error,
    }
}

pub(super) fn failed(fault: Fault, number: u32, last: usize) -> Record {
    let line = line_or(&fault, number, last);
    Record::Failed {
        message: fault.message,
        file: line.map(|_| SOURCE_FILE.to_owned()),
        line,
    }
}

/// Returns the line of a fault in the source, whose last line is that of an earlier cell.
fn line_or(fault: &Fault, number: u32, last: usize) -> Option<usize> {
    let is_earlier = fault.place.is_some_and(|place| place.cell != number);
    line(fault, number).or(is_earlier.then_some(last))
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

/// Puts the place of a record into the cell whose file has this name, if it is there.
pub(super) fn in_cell(mut record: Record, name: &str) -> Record {
    if let Record::Failed { file, .. } | Record::Panic { file, .. } = &mut record {
        let last = file.as_deref().and_then(|path| path.rsplit('/').next());
        let is_own = last.is_some_and(|file| file.split('.').next() == Some(name));
        if is_own {
            *file = Some(SOURCE_FILE.to_owned());
        }
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
