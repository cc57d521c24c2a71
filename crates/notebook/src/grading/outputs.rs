//! What the cells of a document contain and have shown.

use crate::execution::execute::TIME_LIMIT;
use serde_json::Value;
use taper_evaluator::joined;

/// Returns the source of a cell, which is a text or a list of lines.
pub(super) fn source_of(cell: &Value) -> String {
    joined(&cell["source"])
}

/// Returns the error outputs of a cell.
pub(super) fn errors(cell: &Value) -> impl Iterator<Item = &Value> {
    let outputs = cell["outputs"].as_array().into_iter().flatten();
    outputs.filter(|output| output["output_type"] == "error")
}

/// Returns the error with which a cell has failed: that of the time limit, because the interrupt that follows it is another.
pub(super) fn failure(cell: &Value) -> Option<&Value> {
    let limit = errors(cell).find(|error| error["ename"] == TIME_LIMIT);
    limit.or_else(|| errors(cell).next())
}

/// Returns the name and the first line of an error.
pub(super) fn summary(error: &Value) -> String {
    let message = joined(&error["evalue"]);
    let first = message.lines().next().unwrap_or_default();
    format!("{}: {}", joined(&error["ename"]), shortened(first, 300))
}

/// Returns the value that a cell has shown, as text.
pub(super) fn value_of(cell: &Value) -> Option<String> {
    let mut outputs = cell["outputs"].as_array()?.iter();
    let result = outputs.find(|output| output["output_type"] == "execute_result")?;
    result.pointer("/data/text~1plain").map(joined)
}

pub(super) fn shortened(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns how a reader finds a cell: by its id, or by its first line.
pub(super) fn label(name: Option<&str>, source: &str) -> String {
    let first = source.lines().find(|line| !line.trim().is_empty());
    let first = || shortened(first.unwrap_or_default().trim(), 40);
    format!("`{}`", name.map_or_else(first, str::to_owned))
}
