//! Translates evcxr's errors.

use crate::session::diagnostics::rustc::{self, CompilerMessage, read, read_messages};
use crate::session::diagnostics::{Diagnostic, EngineError, Label};
use crate::session::source_map::SourceMap;
use std::path::Path;

/// How evcxr's message begins when the compiler has failed and reported no error in the code.
const NO_ERRORS: &str = "Compilation failed, but no parsable errors were found. STDERR:\n";

pub(super) fn to_engine_error(
    error: evcxr::Error,
    messages: &Path,
    compiled: &SourceMap,
) -> EngineError {
    match error {
        evcxr::Error::CompilationErrors(errors) => {
            let reported = errors.iter().filter(|error| error.level() == "error");
            let reported = reported.map(|error| to_diagnostic(error, compiled));
            let mut diagnostics: Vec<Diagnostic> = reported.collect();
            // In place of an error outside of the cell, evcxr reports the error's note if that is about
            // a cell.
            let is_note =
                |error: &evcxr::CompilationError| ["note", "help"].contains(&error.level());
            if diagnostics.is_empty() || errors.iter().any(is_note) {
                let known: Vec<String> = diagnostics.iter().map(|d| d.message.clone()).collect();
                let more = rustc::errors(&read_messages(messages), compiled).into_iter();
                diagnostics.extend(more.filter(|d| !known.contains(&d.message)));
            }
            EngineError::Compile(diagnostics)
        }
        evcxr::Error::SubprocessTerminated(status) => EngineError::Ended(status),
        evcxr::Error::TypeRedefinedVariablesLost(variables) => EngineError::Lost(variables),
        evcxr::Error::Message(message) => match message.strip_prefix(NO_ERRORS) {
            Some(output) => match rustc::errors(&read_messages(messages), compiled) {
                errors if errors.is_empty() => EngineError::Compiler(output.to_owned()),
                errors => EngineError::Compile(errors),
            },
            None => EngineError::Message(message),
        },
    }
}

fn to_diagnostic(error: &evcxr::CompilationError, compiled: &SourceMap) -> Diagnostic {
    let labels = error.spanned_messages().iter().filter_map(|m| {
        let span = m.span?;
        Some(Label {
            start: (span.start_line, span.start_column),
            end: (span.end_line, span.end_column),
            text: m.label.clone(),
            primary: m.is_primary,
        })
    });
    let message = CompilerMessage {
        is_error: error.level() != "warning",
        message: error.message(),
        code: error.code(),
        labels: labels.collect(),
        json: &error.json,
    };
    read(message, compiled)
}
