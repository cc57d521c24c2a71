//! What a user reads when a cell fails.
//!
//! - [`rustc`] reads the compiler's messages as a [`Diagnostic`];
//! - [`brackets`] finds unmatched brackets;
//! - [`hints`] adds what to do about mistakes that are common in notebooks and among beginners;
//! - [`context`] is what the hints know about the cell and those before it;
//! - [`render`] formats a diagnostic as the text below the cell;
//! - [`failure`] explains cells that compiled and failed while they ran, with the advice of [`panics`];
//! - [`cell_error`] builds the error itself.

mod brackets;
mod cell_error;
mod context;
mod diagnostic;
pub(super) mod failure;
mod hints;
mod panics;
mod render;
pub(super) mod rustc;

use crate::cells::MEMORY;
pub(crate) use cell_error::error;
pub(super) use cell_error::{LEFT, PROCESS_ENDED};
pub(crate) use context::Context;
#[cfg(feature = "evcxr")]
pub(super) use diagnostic::Note;
pub(super) use diagnostic::{Diagnostic, Label};
pub use hints::sentences;
pub(super) use hints::{of_crate, private, why_gone};
use std::collections::HashSet;
use taper_evaluator::event::{COMPILE_ERROR, CellError, Event, Location};
use taper_evaluator::run::End;

/// Why an engine did not run a cell to its end.
pub(super) enum EngineError {
    Compile(Vec<Diagnostic>),
    /// The cell failed while it ran.
    Failed(failure::Failure),
    /// The cells process ended.
    Ended(End),
    /// The cell did not stop, and goes on. These variables are lost.
    Left(Vec<String>),
    /// The compiler failed for another reason than the cell. Holds what it printed.
    Compiler(String),
    Message(String),
}

/// Turns an engine's error into the error of the cell.
pub(super) fn explain(engine_error: EngineError, context: &Context) -> CellError {
    match engine_error {
        EngineError::Compile(diagnostics) => compile_error(diagnostics, context),
        EngineError::Failed(failure) => failure.into_error(context.cell),
        EngineError::Ended(end) => {
            let limit = std::env::var(MEMORY).ok();
            let text = failure::ended(&end, limit.as_deref());
            error(PROCESS_ENDED, &text, None)
        }
        EngineError::Left(lost) => error(LEFT, &failure::left(&lost), None),
        EngineError::Compiler(output) => {
            error(COMPILE_ERROR, &failure::compiler_failed(&output), None)
        }
        EngineError::Message(message) => error("Error", &message, None),
    }
}

/// Returns the error for a cell of which an engine would run only a part.
pub(super) fn dropped(context: &Context) -> Option<CellError> {
    let diagnostic = brackets::dropped(context.cell)?;
    Some(compile_error(vec![diagnostic], context))
}

/// Returns the event that shows a warning to the user.
pub(super) fn warning(mut diagnostic: Diagnostic, context: &Context) -> Event {
    hints::add_to_warning(&mut diagnostic, context);
    diagnostic.code = None;
    Event::stderr(format!("{}\n", render::text(&diagnostic, context.cell)))
}

fn compile_error(mut diagnostics: Vec<Diagnostic>, context: &Context) -> CellError {
    let code = context.cell;
    if diagnostics.iter().any(|d| d.is_error) {
        diagnostics.retain(|d| d.is_error);
    }
    if diagnostics.iter().any(Diagnostic::is_syntax_error) {
        diagnostics.retain(Diagnostic::is_syntax_error);
    }
    if diagnostics.iter().any(|d| d.message.contains("delimiter"))
        && let Some(diagnostic) = brackets::unmatched(code)
    {
        diagnostics = vec![diagnostic];
    }
    // In a function that returns a tensor, the compiler reports a needless `?` twice.
    let needless = |d: &Diagnostic| d.message.ends_with("that implement `Try`");
    let lines = diagnostics.iter().filter(|d| needless(d));
    let lines: Vec<usize> = lines
        .filter_map(Diagnostic::primary)
        .map(|label| label.end.0)
        .collect();
    diagnostics.retain(|d| {
        let is_at = |label: &Label| lines.contains(&label.start.0);
        !d.message.contains("can only be used in a function") || !d.primary().is_some_and(is_at)
    });
    for diagnostic in &mut diagnostics {
        hints::add(diagnostic, context);
    }
    // One line of Python may cause several errors.
    if let Some(hint) = diagnostics.first().and_then(|first| first.hint.clone()) {
        let mut is_first = true;
        let repeats = |d: &Diagnostic| d.is_syntax_error() && d.hint.as_ref() == Some(&hint);
        diagnostics.retain(|d| std::mem::take(&mut is_first) || !repeats(d));
    }
    let mut hints = HashSet::new();
    for diagnostic in &mut diagnostics {
        diagnostic.hint.take_if(|hint| !hints.insert(hint.clone()));
    }
    let mut shown: Vec<String> = Vec::new();
    for text in diagnostics.iter().map(|d| render::text(d, code)) {
        if !shown.contains(&text) {
            shown.push(text);
        }
    }
    let first = diagnostics.first();
    let place = first.and_then(Diagnostic::primary).map(|label| label.start);
    let no_message = || "the cell does not compile".to_owned();
    CellError {
        name: COMPILE_ERROR.to_owned(),
        message: first.map_or_else(no_message, Diagnostic::headline),
        traceback: shown.join("\n\n").lines().map(str::to_owned).collect(),
        location: place.map(|(line, column)| Location {
            line,
            column: Some(column),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::names::Names;

    fn compiled(diagnostics: Vec<Diagnostic>, code: &str) -> CellError {
        compile_error(diagnostics, &Context::new(code, &Names::default(), &[]))
    }

    fn mismatch() -> Diagnostic {
        Diagnostic {
            is_error: true,
            message: "mismatched types".into(),
            code: Some("E0308".into()),
            labels: vec![Label {
                start: (2, 2),
                end: (2, 5),
                text: "expected `i32`".into(),
                primary: true,
            }],
            ..Diagnostic::default()
        }
    }

    #[test]
    fn a_compile_error_points_into_the_cell_and_is_shown_once() {
        let code = "let x: i32 =\n\t\"é\";";
        let error = compiled(vec![mismatch(), mismatch()], code);
        let place = Location {
            line: 2,
            column: Some(2),
        };
        assert_eq!(error.location, Some(place));
        let text = error.traceback.join("\n");
        assert_eq!(text.matches("mismatched types").count(), 1, "{text}");
        assert!(text.contains("^^^"), "{text}");
    }

    #[test]
    fn a_result_with_its_whole_path_gets_the_hint_too() {
        let messages = [
            ("cannot negate `std::result::Result<Tensor, Error>`", true),
            ("cannot negate `Result<Tensor, Error>`", true),
            (
                "a function that returns `std::result::Result<f32, Error>`",
                false,
            ),
            ("cannot negate `String`", false),
        ];
        for (message, has_hint) in messages {
            let diagnostic = Diagnostic {
                message: message.into(),
                ..mismatch()
            };
            let error = compiled(vec![diagnostic], "\n-x.y()");
            let text = error.traceback.join(" ");
            assert_eq!(
                text.contains("To get the value, write `?`"),
                has_hint,
                "{text}"
            );
        }
    }

    #[test]
    fn a_hint_is_shown_once() {
        let unknown = |column| Diagnostic {
            code: Some("E0425".into()),
            message: "cannot find function `col` in this scope".into(),
            labels: vec![Label {
                start: (1, column),
                end: (1, column + 3),
                text: "not found in this scope".into(),
                primary: true,
            }],
            ..mismatch()
        };
        let error = compiled(vec![unknown(1), unknown(10)], "col(\"a\") + col(\"b\")");
        let text = error.traceback.join("\n");
        assert_eq!(text.matches("cannot find function").count(), 2, "{text}");
        assert_eq!(text.matches("spelled correctly").count(), 1, "{text}");
    }

    #[test]
    fn errors_that_follow_from_a_syntax_error_are_left_out() {
        let syntax = Diagnostic {
            is_error: true,
            message: "expected `;`".into(),
            ..Diagnostic::default()
        };
        let error = compiled(vec![mismatch(), syntax], "x y");
        assert_eq!(error.message, "expected `;`");
        assert!(!error.traceback.join("").contains("mismatched"));
    }
}
