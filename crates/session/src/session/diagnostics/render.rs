//! A diagnostic as text, in rustc's manner; the lines are counted in the cell.

use super::diagnostic::{Diagnostic, Edit, Label, Note};
use crate::session::source_map::byte_offset;
use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use std::ops::Range;

/// As many ways to change the cell are shown, if the compiler offers several.
const ALTERNATIVES: usize = 3;

/// A notebook would break longer lines in mid-word.
const WIDTH: usize = 80;

/// With ANSI colours.
pub(crate) fn text(diagnostic: &Diagnostic, code: &str) -> String {
    let mut title = Level::ERROR.primary_title(&*diagnostic.message);
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
                .label(label.message())
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

/// In lines of at most `WIDTH`; what stands between backticks is not broken.
fn wrapped(text: &str) -> String {
    let mut in_code = false;
    let is_break = |c: char| {
        in_code ^= c == '`';
        c == ' ' && !in_code
    };
    let words: Vec<&str> = text.split(is_break).collect();
    let mut lines = vec![String::new()];
    for word in words {
        let line = lines.last_mut().expect("there is one from the start");
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

/// The cell as it would be with the note's edits.
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

/// rustc gives the parts of one change, or several changes of the same part, in one list.
fn are_alternatives(edits: &[Edit]) -> bool {
    edits.len() > 1 && edits.iter().all(|edit| edit.start == edits[0].start)
}

fn bytes(code: &str, places: Range<(usize, usize)>) -> Range<usize> {
    let start = byte_offset(code, places.start);
    start..byte_offset(code, places.end).max(start)
}

impl Label {
    /// evcxr repeats the error's message where the compiler gave the place no text of its own.
    fn message(&self) -> Option<&str> {
        let repeats = |level: &&str| self.text.starts_with(*level);
        let is_own = !["error: ", "help: ", "note: "].iter().any(repeats);
        (is_own && !self.text.is_empty()).then_some(&*self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_hints_are_broken_between_words_and_code_stays_whole() {
        let text = format!("{} `let x = 1;` end", "word ".repeat(15).trim_end());
        let text = wrapped(&text);
        assert_eq!(text.lines().nth(1), Some("`let x = 1;` end"));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
