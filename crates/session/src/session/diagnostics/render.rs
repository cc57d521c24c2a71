//! Formats a diagnostic as rustc does, with the line numbers of the cell.

use super::diagnostic::{Diagnostic, Edit, Note};
use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use std::ops::Range;
use taper_rust_cell::position::byte_offset;

/// How many suggestions are shown at most, if the compiler offers alternatives.
const ALTERNATIVES: usize = 3;

/// The length of a line in characters. Notebooks break longer lines within words.
const WIDTH: usize = 80;

/// Returns the text with ANSI colours.
pub(crate) fn text(diagnostic: &Diagnostic, code: &str) -> String {
    let level = if diagnostic.is_error {
        Level::ERROR
    } else {
        Level::WARNING
    };
    let mut title = level.primary_title(&*diagnostic.message);
    if let Some(code) = &diagnostic.code {
        title = title.id(&**code);
    }
    let mut group = Group::with_title(title);
    if !diagnostic.labels.is_empty() {
        let annotations = diagnostic.labels.iter().map(|label| {
            let kind = match label.primary {
                true => AnnotationKind::Primary,
                false => AnnotationKind::Context,
            };
            kind.span(bytes(code, label.start..label.end))
                .label((!label.text.is_empty()).then_some(&*label.text))
        });
        group = group.element(Snippet::source(code).path("cell").annotations(annotations));
    }
    let (changes, words): (Vec<_>, Vec<_>) = diagnostic
        .notes
        .iter()
        .partition(|note| !note.edits.is_empty());
    for note in words {
        let level = if note.is_help {
            Level::HELP
        } else {
            Level::NOTE
        };
        group = group.element(level.message(&*note.message));
    }
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.with_name("hint").message(wrapped(hint)));
    }
    let changes = changes.into_iter().map(|note| change(note, code));
    let groups: Vec<Group> = std::iter::once(group).chain(changes).collect();
    Renderer::styled().render(&groups)
}

/// Wraps the text into lines of at most `WIDTH`, without breaking code between backticks.
fn wrapped(text: &str) -> String {
    let mut in_code = false;
    let is_break = |c: char| {
        in_code ^= c == '`';
        c == ' ' && !in_code
    };
    let words: Vec<&str> = text.split(is_break).collect();
    let mut lines = vec![String::new()];
    for word in words {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            word.clone_into(line);
        } else if line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(word.to_owned());
        } else {
            *line = format!("{line} {word}");
        }
    }
    lines.join("\n")
}

/// Shows the cell with the note's edits.
fn change<'a>(note: &'a Note, code: &'a str) -> Group<'a> {
    let group = Group::with_title(Level::HELP.secondary_title(&*note.message));
    let with = |edits: &'a [Edit]| {
        let patch = |edit: &'a Edit| Patch::new(bytes(code, edit.start..edit.end), &*edit.text);
        Snippet::source(code).patches(edits.iter().map(patch))
    };
    if are_alternatives(&note.edits) {
        group.elements(note.edits.chunks(1).take(ALTERNATIVES).map(with))
    } else {
        group.element(with(&note.edits))
    }
}

/// Returns whether the edits are alternatives for the same part, and not parts of one change.
fn are_alternatives(edits: &[Edit]) -> bool {
    edits.len() > 1 && edits.iter().all(|edit| edit.start == edits[0].start)
}

fn bytes(code: &str, places: Range<(usize, usize)>) -> Range<usize> {
    let start = byte_offset(code, places.start);
    start..byte_offset(code, places.end).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_hints_are_wrapped_outside_of_code() {
        let text = format!("{} `let x = 1;` end", "word ".repeat(15).trim_end());
        let text = wrapped(&text);
        assert_eq!(text.lines().nth(1), Some("`let x = 1;` end"));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
