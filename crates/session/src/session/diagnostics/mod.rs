//! What a student reads when a cell fails.
//!
//! - [`rustc`]: rustc's words as a [`Diagnostic`], with all places in the cell;
//! - [`brackets`]: those that do not match;
//! - [`hints`]: what to do, in plain words, about the mistakes that notebooks and newcomers make;
//! - [`render`]: a diagnostic as the text below the cell;
//! - [`failure`]: cells that compiled and failed while they ran.

mod brackets;
mod cell_error;
mod diagnostic;
pub(super) mod failure;
mod hints;
mod render;
pub(super) mod rustc;

use super::names::Names;
pub(super) use cell_error::{PROCESS_ENDED, error};
pub(super) use diagnostic::{Diagnostic, Label};
use taper_evaluator::event::{COMPILE_ERROR, CellError, Location};

/// What evcxr answers instead of a value.
pub(super) enum EngineError {
    Compile(Vec<Diagnostic>),
    /// The cells process ended; the text says how.
    Ended(String),
    /// Variables whose type was defined anew.
    Lost(Vec<String>),
    Message(String),
}

/// Turns evcxr's answer into an error of the cell. `names` knows what earlier cells did.
pub(super) fn explain(engine_error: EngineError, code: &str, names: &Names) -> CellError {
    match engine_error {
        EngineError::Compile(diagnostics) => compile_error(diagnostics, code, names),
        EngineError::Ended(status) => error(PROCESS_ENDED, &failure::ended(&status), None),
        EngineError::Lost(variables) => {
            let variables = variables.join(", ");
            let what =
                format!("the type of {variables} was defined anew, so the old values are lost");
            error(
                "VariablesLost",
                &format!("{what}: run the cells that make them again"),
                None,
            )
        }
        EngineError::Message(message) => match hints::about_a_type(&message, code) {
            Some(diagnostic) => compile_error(vec![diagnostic], code, names),
            // A shell command that failed without a word.
            None => error("Error", message.trim_end_matches([':', ' ']), None),
        },
    }
}

fn compile_error(mut diagnostics: Vec<Diagnostic>, code: &str, names: &Names) -> CellError {
    if diagnostics.iter().any(|d| d.is_error) {
        diagnostics.retain(|d| d.is_error);
    }
    if diagnostics.iter().any(Diagnostic::is_about_grammar) {
        diagnostics.retain(Diagnostic::is_about_grammar);
    }
    if diagnostics.iter().any(|d| d.message.contains("delimiter")) {
        diagnostics
            .splice(.., brackets::unmatched(code))
            .for_each(drop);
    }
    for diagnostic in &mut diagnostics {
        hints::add(diagnostic, code, names);
    }
    let mut shown: Vec<String> = Vec::new();
    for text in diagnostics.iter().map(|d| render::text(d, code)) {
        if !shown.contains(&text) {
            shown.push(text);
        }
    }
    let first = diagnostics.first();
    let place = first.and_then(Diagnostic::primary).map(|label| label.start);
    let nothing_known = || "the cell does not compile".to_owned();
    CellError {
        name: COMPILE_ERROR.to_owned(),
        message: first.map_or_else(nothing_known, Diagnostic::headline),
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
    fn a_compile_error_points_into_the_cell_and_is_said_once() {
        let code = "let x: i32 =\n\t\"é\";";
        let error = compile_error(vec![mismatch(), mismatch()], code, &Names::default());
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
    fn a_result_by_its_whole_path_is_to_be_opened_too() {
        let said = [
            ("cannot negate `std::result::Result<Tensor, Error>`", true),
            ("cannot negate `Result<Tensor, Error>`", true),
            (
                "a function that returns `std::result::Result<f32, Error>`",
                false,
            ),
            ("cannot negate `String`", false),
        ];
        for (message, is_to_be_opened) in said {
            let diagnostic = Diagnostic {
                message: message.into(),
                ..mismatch()
            };
            let error = compile_error(vec![diagnostic], "\n-x.y()", &Names::default());
            let text = error.traceback.join(" ");
            assert_eq!(
                text.contains("has to be opened first"),
                is_to_be_opened,
                "{text}"
            );
        }
    }

    #[test]
    fn what_follows_from_a_mistake_of_grammar_is_left_away() {
        let grammar = Diagnostic {
            is_error: true,
            message: "expected `;`".into(),
            ..Diagnostic::default()
        };
        let error = compile_error(vec![mismatch(), grammar], "x y", &Names::default());
        assert_eq!(error.message, "expected `;`");
        assert!(!error.traceback.join("").contains("mismatched"));
    }
}
