//! The report of a failed cell.

use crate::document::notebook::{CodeCell, Notebook};
use crate::execution::execute::Ran;
use anstream::adapter::strip_str;
use taper_evaluator::event::{CellError, Location};

/// Returns the notebook's name, the cell's execution count and its id.
pub(super) fn place(notebook: &Notebook, cell: &CodeCell, ran: &Ran) -> String {
    place_of_line(notebook, cell, ran, None)
}

fn place_of_line(
    notebook: &Notebook,
    cell: &CodeCell,
    ran: &Ran,
    location: Option<Location>,
) -> String {
    let line = location.map_or(String::new(), |at| format!(", line {}", at.line));
    let (mut name, count, id) = (notebook.name.clone(), ran.execution_count, &cell.id);
    if let Some(first) = cell.line {
        // As compilers write it: editors open the file at this line.
        let line = location.map_or(1, |at| at.line);
        name += &format!(":{}", first + line - 1);
    }
    format!("{name}: cell [{count}]{line} (id {id})")
}

/// Returns the place of the failure, the line of the source, and the error.
pub(super) fn describe(
    notebook: &Notebook,
    cell: &CodeCell,
    ran: &Ran,
    error: &CellError,
) -> Vec<String> {
    let mut lines = vec![place_of_line(notebook, cell, ran, error.location)];
    if let Some(location) = error.location {
        lines.extend(source_line(&cell.source, location));
    }
    lines.extend(message(error));
    lines
}

/// Returns the line that failed, and a caret under the column if that is known.
fn source_line(source: &str, location: Location) -> Vec<String> {
    let Some(line) = source.lines().nth(location.line.saturating_sub(1)) else {
        return Vec::new();
    };
    let mut lines = vec![format!("    {line}")];
    if let Some(column) = location.column {
        // Tabs stay tabs, so that the caret is under its character.
        let before = line.chars().take(column.saturating_sub(1));
        let indent: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        lines.push(format!("    {indent}^"));
    }
    lines
}

/// Returns the error's name and message, and its traceback if that contains more.
fn message(error: &CellError) -> Vec<String> {
    let trace = strip_str(&error.traceback.join("\n")).to_string();
    let summary = format!("{}: {}", error.name, error.message);
    let first = error.message.lines().next().unwrap_or_default();
    let repeats = !first.is_empty() && trace.contains(first);
    let mut lines: Vec<String> = Vec::new();
    if !repeats || trace.lines().count() <= error.message.lines().count() {
        lines.extend(summary.lines().map(String::from));
    }
    if !trace.trim().is_empty() && (lines.is_empty() || !repeats) {
        lines.extend(trace.lines().map(String::from));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(message: &str, traceback: &[&str]) -> CellError {
        CellError {
            name: "CompileError".into(),
            message: message.into(),
            traceback: traceback.iter().map(|line| line.to_string()).collect(),
            location: None,
        }
    }

    #[test]
    fn the_caret_is_under_its_character() {
        let at = |line, column| source_line("let a = 1;\n\tlet é = b;", Location { line, column });
        assert_eq!(at(2, Some(10)), ["    \tlet é = b;", "    \t        ^"]);
        assert_eq!(at(1, None), ["    let a = 1;"]);
        assert_eq!(at(3, Some(1)), Vec::<String>::new());
        assert_eq!(at(1, Some(99))[1].trim_start(), "^");
    }

    #[test]
    fn a_traceback_is_shown_if_it_contains_more() {
        assert_eq!(message(&error("no `b`", &[])), ["CompileError: no `b`"]);
        assert_eq!(
            message(&error("no `b`", &["\x1b[31mno `b`\x1b[0m"])),
            ["CompileError: no `b`"]
        );
        let longer = error("no `b`", &["error: no `b`", "help: `a`"]);
        assert_eq!(message(&longer), ["error: no `b`", "help: `a`"]);
        let other = error("no `b`", &["at line 1"]);
        assert_eq!(message(&other), ["CompileError: no `b`", "at line 1"]);
    }
}
