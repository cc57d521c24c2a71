//! The lines of a cell that are not Rust.

use taper_evaluator::commands::percent_command;

/// Returns the commands of a cell: lines that begin with `!`, `:` or, as the first one, `%`. Of a script, all lines count.
pub(super) fn lines(source: &str) -> impl Iterator<Item = String> {
    let script = is_script(source);
    let first = percent_command(source).map_or("", |(start, _)| line_at(source, start));
    source.lines().filter_map(move |line| {
        let trimmed = line.trim();
        let is_command = script
            || line.starts_with('!')
            || (trimmed.starts_with(':') && !trimmed.starts_with("::"))
            || (!first.is_empty() && line == first);
        (is_command && !trimmed.is_empty()).then(|| trimmed.to_owned())
    })
}

/// Returns whether no line of the cell is Rust: it is a script or a file.
pub(super) fn is_script(source: &str) -> bool {
    let rust = ["time", "profile", "test", "fmt"];
    percent_command(source).is_some_and(|(_, word)| !rust.contains(&word.trim_start_matches('%')))
}

fn line_at(source: &str, start: usize) -> &str {
    source[start..].lines().next().unwrap_or_default()
}
