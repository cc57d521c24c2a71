//! Reads rustc's messages, and writes them as cargo would.

use super::recorder::CRATE;
use serde_json::{Value, json};
use std::path::Path;

/// One line that rustc wrote to its standard error.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    Diagnostic(Value),
    /// About artifacts and the like, which cargo keeps to itself.
    Internal,
    /// Not JSON: passed on as it is.
    Text,
}

/// Reads a line, whatever the order of its fields.
pub(crate) fn read(line: &str) -> Line {
    let Ok(message) = serde_json::from_str::<Value>(line) else {
        return Line::Text;
    };
    match message["$message_type"].as_str() {
        Some("diagnostic") => Line::Diagnostic(message),
        Some(_) => Line::Internal,
        None => Line::Text,
    }
}

/// Returns whether an error points into a source. Other errors are not about the cell, but come from the
/// linker or the disk.
pub(crate) fn points_into_a_source(diagnostic: &Value) -> bool {
    let has_span = |message: &Value| message["spans"].as_array().is_some_and(|s| !s.is_empty());
    let below = diagnostic["children"].as_array().into_iter().flatten();
    has_span(diagnostic) || below.into_iter().any(has_span)
}

/// Returns whether a message is an error that rustc found, and not the count of errors at the end.
pub(crate) fn is_error(diagnostic: &Value) -> bool {
    diagnostic["level"] == "error" && !is_count(diagnostic)
}

/// Returns whether a message says that a name is not known: a variable, or, where another crate has the
/// name `taper`, a path.
pub(crate) fn lacks_a_name(diagnostic: &Value) -> bool {
    let unknown = ["E0425", "E0432", "E0433"];
    unknown
        .iter()
        .any(|code| diagnostic["code"]["code"] == *code)
}

/// Returns whether a message is the count, "aborting due to 2 previous errors". It has neither a place
/// nor a code, and follows the errors.
fn is_count(diagnostic: &Value) -> bool {
    let text = diagnostic["message"].as_str().unwrap_or_default();
    text.starts_with("aborting due to ")
}

/// Returns cargo's message for a diagnostic.
pub(crate) fn diagnostic(message: &Value) -> String {
    format!(
        "{}\n",
        json!({ "reason": "compiler-message", "message": message })
    )
}

/// Returns cargo's message for the compiled cell.
pub(crate) fn artifact(library: &Path) -> String {
    let artifact = json!({
        "reason": "compiler-artifact",
        "target": { "name": CRATE },
        "filenames": [library],
    });
    format!("{artifact}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_may_come_in_any_order() {
        let found = read(r#"{"message":"m","level":"error","$message_type":"diagnostic"}"#);
        assert!(matches!(found, Line::Diagnostic(message) if message["message"] == "m"));
        assert_eq!(
            read(r#"{"artifact":"/a","$message_type":"artifact"}"#),
            Line::Internal
        );
        assert_eq!(read("thread 'rustc' panicked"), Line::Text);
        assert_eq!(read("{}"), Line::Text);
    }

    #[test]
    fn an_error_of_the_linker_points_nowhere() {
        let of_linker =
            json!({ "level": "error", "message": "linking failed", "spans": [], "children": [] });
        assert!(is_error(&of_linker) && !points_into_a_source(&of_linker));
        let of_cell = json!({ "level": "error", "message": "m", "spans": [{}], "children": [] });
        assert!(is_error(&of_cell) && points_into_a_source(&of_cell));
        let count =
            json!({ "level": "error", "message": "aborting due to 1 previous error", "spans": [] });
        assert!(!is_error(&count));
    }
}
