//! Translates evcxr's errors.

use crate::session::diagnostics::{Diagnostic, EngineError, Label, Note};
use evcxr::CompilationError;
use taper_evaluator::run::End;

/// How evcxr's message begins when the compiler has failed and reported no error in the code.
const NO_ERRORS: &str = "Compilation failed, but no parsable errors were found. STDERR:\n";

pub(super) fn translate(error: evcxr::Error) -> EngineError {
    match error {
        evcxr::Error::CompilationErrors(errors) => {
            EngineError::Compile(errors.iter().map(diagnostic).collect())
        }
        evcxr::Error::SubprocessTerminated(status) => EngineError::Ended(end(&status)),
        evcxr::Error::TypeRedefinedVariablesLost(variables) => {
            let variables = variables.join(", ");
            EngineError::Message(format!(
                "the type of {variables} was redefined, so the old values are lost: run the cells that define them again"
            ))
        }
        evcxr::Error::Message(message) => match message.strip_prefix(NO_ERRORS) {
            Some(output) => EngineError::Compiler(output.to_owned()),
            None => EngineError::Message(message),
        },
    }
}

/// Returns how the process ended, which evcxr says in words.
fn end(said: &str) -> End {
    let (_, status) = said.rsplit_once("with status: ").unwrap_or_default();
    let number = |before: &str| status.strip_prefix(before)?.split(' ').next()?.parse().ok();
    End {
        code: number("exit status: "),
        signal: number("signal: "),
        allocation: None,
    }
}

/// evcxr has found the places in the cell, but not those of suggestions.
fn diagnostic(error: &CompilationError) -> Diagnostic {
    let labels = error.spanned_messages().iter().filter_map(|message| {
        let span = message.span?;
        Some(Label {
            start: (span.start_line, span.start_column),
            end: (span.end_line, span.end_column),
            text: own_text(&message.label),
            primary: message.is_primary,
        })
    });
    let notes = error.help().into_iter().map(|message| Note {
        is_help: true,
        message,
        edits: Vec::new(),
        is_outside_cell: false,
    });
    Diagnostic {
        is_error: error.level() != "warning",
        message: error.message().trim_start_matches("error: ").to_owned(),
        code: error.code().map(str::to_owned),
        labels: labels.collect(),
        notes: notes.collect(),
        calls_taper: false,
        hint: None,
    }
}

/// Returns a label's text, or nothing where evcxr repeats the error's message.
fn own_text(label: &str) -> String {
    let levels = ["error: ", "help: ", "note: "];
    match levels.iter().any(|level| label.starts_with(level)) {
        true => String::new(),
        false => label.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_process_is_read_from_evcxrs_words() {
        let end = |said: &str| {
            let End { code, signal, .. } = end(said);
            (code, signal)
        };
        assert_eq!(
            end("Subprocess terminated with status: exit status: 3"),
            (Some(3), None)
        );
        let killed = "a line\nSubprocess terminated with status: signal: 9 (SIGKILL)";
        assert_eq!(end(killed), (None, Some(9)));
        assert_eq!(end("Subprocess didn't start"), (None, None));
    }
}
