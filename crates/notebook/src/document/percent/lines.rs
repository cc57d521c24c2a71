//! The lines of a cell.

use super::marker::Marker;

/// The scripts that jupytext writes as comments. The session runs no others.
const SCRIPTS: [&str; 1] = ["bash"];

/// Returns the source of a cell of code.
pub(super) fn code(lines: &[&str]) -> String {
    let lines = lines.iter().map(|line| {
        let is_escaped = is_command(line, 1) || is_marker(line, 2);
        if is_escaped {
            uncommented(line).unwrap_or(line)
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the lines of a source: its commands are comments, and so are comments that would become commands or begin a cell.
pub(super) fn from_code(source: &str) -> Vec<String> {
    if source.is_empty() {
        return Vec::new();
    }
    let lines = source.split('\n').map(|line| {
        let needs_escape = is_command(line, 0) || is_marker(line, 1);
        if needs_escape {
            format!("// {line}")
        } else {
            line.to_owned()
        }
    });
    lines.collect()
}

/// Returns the source of a cell of text, whose lines are comments.
pub(super) fn text(lines: &[&str]) -> String {
    let is_comment = |line: &&str| line.trim().is_empty() || line.starts_with("//");
    if !lines.iter().all(is_comment) {
        return lines.join("\n");
    }
    let lines = lines.iter().map(|line| {
        let line = uncommented(line).unwrap_or(line);
        let is_escaped = is_marker(line, 1);
        if is_escaped {
            uncommented(line).unwrap_or(line)
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a text as comments. A line that would begin a cell is commented twice.
pub(super) fn from_text(text: &str) -> Vec<String> {
    let lines = text.split('\n').map(|line| match line {
        "" => "//".to_owned(),
        line if is_marker(line, 0) => format!("// // {line}"),
        line => format!("// {line}"),
    });
    lines.collect()
}

/// Splits a cell such as `%%bash -x` into the command without its `%%`, and the script.
pub(super) fn script(source: &str) -> Option<(&str, &str)> {
    let (command, script) = source.strip_prefix("%%")?.split_once('\n')?;
    let language = command.split(' ').next()?;
    SCRIPTS.contains(&language).then_some((command, script))
}

/// Returns a line without the `// ` with which it begins.
fn uncommented(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("//")?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// Returns a line without the comment signs at its beginning, and their number.
fn bare(mut line: &str) -> (&str, usize) {
    let mut count = 0;
    while let Some(rest) = uncommented(line) {
        line = rest;
        count += 1;
    }
    (line, count)
}

/// Returns whether a line is a command of the session, such as `:dep`, with at least this many comment signs before it.
fn is_command(line: &str, comments: usize) -> bool {
    let (line, count) = bare(line);
    let mut characters = line.chars();
    count >= comments
        && characters.next() == Some(':')
        && characters.next().is_some_and(|c| c.is_ascii_alphabetic())
}

/// Returns whether a line begins a cell if it has one comment sign. It has at least this many.
fn is_marker(line: &str, comments: usize) -> bool {
    let mut rest = line.trim_start();
    let mut count = 0;
    while let Some(inner) = rest.strip_prefix("//") {
        rest = inner.trim_start();
        count += 1;
    }
    count >= comments && Marker::read(&format!("//{rest}")).is_some()
}
