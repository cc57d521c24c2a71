//! The cell of a submission because of which a test fails.

use super::outputs::{failure, label, source_of, summary};
use crate::document::nbgrader::name_of;
use crate::execution::execute::TIME_LIMIT;
use serde_json::Value;
use std::fmt;
use taper_evaluator::joined;

/// A cell that has failed before a test.
pub(super) struct Failed<'a> {
    /// How a reader finds the cell.
    label: String,
    error: &'a Value,
    is_lost: bool,
}

/// Returns the cell because of which a test fails with this error: the last one before it that has failed and defines a
/// name that the error mentions, or has ended the process that kept a variable of that name.
pub(super) fn cause<'a>(before: &'a [Value], error: &Value) -> Option<Failed<'a>> {
    let message = joined(&error["evalue"]);
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let defines = |cell: &Value| defines(&source_of(cell), &names);
    let failed = before.iter().enumerate().rev().find_map(|(at, cell)| {
        let error = failure(cell)?;
        let has_ended = ENDED.iter().any(|name| error["ename"] == *name);
        let is_lost = has_ended && before[..at].iter().any(defines);
        (is_lost || (!is_test(cell) && defines(cell))).then_some((cell, error, is_lost))
    });
    let (cell, error, is_lost) = failed?;
    Some(Failed {
        label: label(name_of(cell), &source_of(cell)),
        error,
        is_lost,
    })
}

/// The errors after which variables may be lost.
const ENDED: [&str; 2] = ["ProcessEnded", TIME_LIMIT];

fn is_test(cell: &Value) -> bool {
    let mark = &cell["metadata"]["nbgrader"];
    mark["grade"] == true && mark["solution"] != true
}

/// Returns whether the source, which may not be valid Rust, defines one of these names.
fn defines(source: &str, names: &[&str]) -> bool {
    const BEFORE: [&str; 10] = [
        "fn", "let", "mut", "struct", "enum", "trait", "const", "static", "type", "mod",
    ];
    let words = source.split(|character: char| !character.is_alphanumeric() && character != '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut pairs = words.windows(2);
    pairs.any(|pair| BEFORE.contains(&pair[0]) && names.contains(&pair[1]))
}

impl Failed<'_> {
    /// Returns the text without what a cell may have learned from a hidden test.
    pub(super) fn open(&self) -> String {
        let summary = match self.error["ename"].as_str() {
            Some("CompileError" | "Refused" | TIME_LIMIT) => summary(self.error),
            name => name.unwrap_or_default().to_owned(),
        };
        self.with(&summary)
    }

    fn with(&self, summary: &str) -> String {
        let lost = if self.is_lost { "lost, because " } else { "" };
        format!("{lost}the cell {} failed: {summary}", self.label)
    }
}

/// Returns what feedback may say about the error of a hidden test. A message could contain a value that the test has passed
/// to a student's function, also as the size of a tensor, and an error of the compiler a part of the test.
pub(super) fn open_summary(error: &Value, has_cause: bool) -> Option<String> {
    match error["ename"].as_str()? {
        "Refused" | TIME_LIMIT => Some(summary(error)),
        "ProcessEnded" => Some("ProcessEnded".to_owned()),
        // A cell outside of the test defines the name.
        "CompileError" if has_cause => {
            let summary = summary(error);
            summary.contains("cannot find").then_some(summary)
        }
        _ => None,
    }
}

impl fmt::Display for Failed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with(&summary(self.error)))
    }
}
