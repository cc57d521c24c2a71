//! Turns rustc's messages into [`Diagnostic`]s of the cell.

use super::diagnostic::{Diagnostic, Edit, Label, Note};
use std::path::Path;
use taper_engine::{Diagnostic as Message, Level, Span};
use taper_rust_cell::position::{Position, byte_offset};

/// The cell that messages are about.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    /// The number that the engine has given the cell.
    pub(crate) number: u32,
    pub(crate) code: &'a str,
}

/// How rustc begins to say that a semicolon is missing.
const SEMICOLON: &str = "expected `;`";

/// What to do about an error in an item of an earlier cell.
const EARLIER: &str = "this cell changes what that item uses. Change that cell and run it again, or give what this \
                       cell defines another name.";

/// The beginnings of notes that repeat the error, or that do not help.
const NOISE: [&str; 13] = [
    "cast through a raw pointer first",
    "the full name for the type has been written to",
    "consider using `--verbose`",
    "the following other types implement trait",
    "the following types implement trait",
    "the trait `",
    "the nightly-only, unstable trait `Try`",
    "required for `",
    "required by a bound",
    "items from traits can only be used",
    "add `#[derive(Debug)]`",
    "`#[warn",
    "see issue #",
];

impl Reader<'_> {
    /// Returns the errors about the cell, or all errors if none is about the cell.
    pub(crate) fn errors(self, messages: &[Message]) -> Vec<Diagnostic> {
        let mut errors: Vec<Diagnostic> = messages.iter().map(|it| self.error(it)).collect();
        if errors.iter().any(|error| !error.labels.is_empty()) {
            errors.retain(|error| !error.labels.is_empty());
        }
        errors
    }

    /// Returns the warnings about values that the cell does not use, such as a `Result`. Other warnings are about
    /// style, or about variables that a later cell uses.
    pub(crate) fn warnings(self, messages: &[Message]) -> Vec<Diagnostic> {
        // An attribute of the cell may ask for others.
        let is_asked_for = |note: &Message| {
            let mut spans = note.spans.iter();
            note.message == "the lint level is defined here" && spans.any(|span| self.is_here(span))
        };
        let is_wanted = |message: &&Message| {
            let is_always = |code| message.has_code(code);
            message.level == Level::Warning
                && (["unused_must_use", "copied_static"]
                    .into_iter()
                    .any(is_always)
                    || message.children.iter().any(is_asked_for))
        };
        let warnings = messages.iter().filter(is_wanted).map(|message| {
            let primary = message.primary().filter(|span| self.is_here(span));
            self.read(message, primary.and_then(|span| self.label(span)))
        });
        warnings
            .filter(|warning| !warning.labels.is_empty())
            .collect()
    }

    fn error(self, message: &Message) -> Diagnostic {
        let labels = message.spans.iter().filter_map(|span| self.label(span));
        let mut error = self.read(message, labels);
        error.is_error = true;
        // A value on a later line is not to blame.
        let mut lines = error.labels.iter().map(|label| label.start.0);
        let first = lines.next();
        let is_value = !error.message.contains("found keyword");
        let is_missing = is_value && error.message.starts_with(SEMICOLON);
        if is_missing && lines.any(|line| Some(line) != first) {
            error.message.truncate(SEMICOLON.len());
        }
        if let Some(span) = self.earlier(message) {
            // The call of a macro is in this cell, and what is wrong is what the macro is called with.
            let is_macro = self.label(span).is_some();
            let what = if is_macro { "a macro" } else { "an item" };
            if let Some(line) = span.text.first() {
                let line = line.text.trim();
                error.message += &format!(", in {what} of an earlier cell: `{line}`");
            }
            error.hint = (!is_macro).then(|| EARLIER.to_owned());
        }
        error
    }

    fn read(self, message: &Message, labels: impl IntoIterator<Item = Label>) -> Diagnostic {
        let labels: Vec<Label> = labels.into_iter().collect();
        let seen = labels.len();
        let mut diagnostic = Diagnostic {
            is_error: message.is_error(),
            message: message.message.trim_start_matches("error: ").to_owned(),
            code: message.code.as_ref().map(|code| code.code.clone()),
            notes: message
                .children
                .iter()
                .filter_map(|it| self.note(it))
                .collect(),
            labels,
            calls_taper: message.children.iter().any(is_in_taper),
            hint: None,
        };
        if message.code.is_none() && message.spans.len() > seen {
            remove_what_was_found(&mut diagnostic.message);
        }
        shorten_paths(&mut diagnostic);
        diagnostic
    }

    /// Returns the place of a message that is about an item of an earlier cell.
    fn earlier(self, message: &Message) -> Option<&Span> {
        let is_earlier = |span: &&Span| span.cell.is_some_and(|cell| cell != self.number);
        message.primary().filter(is_earlier)
    }

    fn is_here(self, span: &Span) -> bool {
        span.cell == Some(self.number)
    }

    /// Returns the part of the cell that a span is about, within the arguments of a macro also.
    fn label(self, span: &Span) -> Option<Label> {
        let mut outer = span;
        while !self.is_here(outer) {
            outer = &outer.expansion.as_ref()?.span;
        }
        let (start, end) = place(outer);
        Some(Label {
            start,
            end,
            text: span.label.clone().unwrap_or_default(),
            primary: span.is_primary,
        })
    }

    fn note(self, note: &Message) -> Option<Note> {
        if NOISE.iter().any(|noise| note.message.starts_with(noise)) {
            return None;
        }
        let mut message = note.message.clone();
        let suggests = note.spans.iter().any(|s| s.suggested_replacement.is_some());
        if !suggests && note.spans.iter().any(|span| !self.is_here(span)) {
            // A span in a library, of which only the signature of a function is worth showing.
            message = format!("{message}: `{}`", signature(note)?);
        }
        let edits = self.edits(note);
        if edits.is_none() && message.starts_with("consider annotating") {
            return None;
        }
        Some(Note {
            is_help: note.level == Level::Help,
            message,
            is_outside_cell: suggests && edits.is_none(),
            edits: edits.unwrap_or_default(),
        })
    }

    /// Returns the edits that rustc suggests, if all of them are in the cell.
    fn edits(self, note: &Message) -> Option<Vec<Edit>> {
        let suggested = note.spans.iter();
        let suggested =
            suggested.filter_map(|span| Some((span, span.suggested_replacement.as_ref()?)));
        let edit = |(span, text): (&Span, &String)| {
            let (start, end) = if text.starts_with("use ") {
                // rustc would put it among the engine's own lines.
                let top = (first_line_of_rust(self.code), 1);
                (top, top)
            } else {
                let is_text = |line: usize| {
                    let line = self.code.lines().nth(line.checked_sub(1)?)?;
                    (!line.trim().is_empty()).then_some(())
                };
                is_text(span.line_start).filter(|()| self.is_here(span))?;
                is_text(span.line_end)?;
                place(span)
            };
            let end = match text.is_empty() {
                true => self.before_brackets(start, end),
                false => end,
            };
            let text = text.clone();
            Some(Edit { start, end, text })
        };
        suggested.map(edit).collect()
    }

    /// Returns where a part of the cell that is to be removed ends, without brackets that it does not open: where the
    /// engine writes brackets around an expression, rustc removes one too many.
    fn before_brackets(self, start: Position, end: Position) -> Position {
        let range = byte_offset(self.code, start)..byte_offset(self.code, end);
        let mut removed = self.code.get(range).unwrap_or_default();
        let count = |text: &str, bracket: char| text.matches(bracket).count();
        let mut column = end.1;
        while let Some(shorter) = removed.strip_suffix(')')
            && count(removed, ')') > count(removed, '(')
        {
            removed = shorter;
            column -= 1;
        }
        (end.0, column)
    }
}

/// Returns whether a note shows where a function of `taper` is defined.
fn is_in_taper(note: &Message) -> bool {
    let is_in_taper = |span: &Span| {
        let folders = Path::new(&span.file_name).ancestors();
        let mut manifests = folders.map(|folder| folder.join("Cargo.toml"));
        let manifest = manifests.find_map(|file| std::fs::read_to_string(file).ok());
        let of_taper =
            |line: &str| line == "name = \"taper\"" || line.starts_with("name = \"taper-");
        manifest.is_some_and(|text| text.lines().any(of_taper))
    };
    let mut spans = note.spans.iter().filter(|span| span.cell.is_none());
    note.message.ends_with("defined here") && spans.any(is_in_taper)
}

fn place(span: &Span) -> (Position, Position) {
    (
        (span.line_start, span.column_start),
        (span.line_end, span.column_end),
    )
}

/// Shortens ``expected `;`, found keyword `fn` ``, where the `fn` is the engine's.
fn remove_what_was_found(message: &mut String) {
    if let (true, Some(at)) = (message.starts_with("expected "), message.find(", found ")) {
        message.truncate(at);
    }
}

fn signature(note: &Message) -> Option<&str> {
    let line = note.spans.first()?.text.first()?.text.trim();
    let is_function = line.starts_with("pub fn ") || line.starts_with("fn ");
    // In a table of functions, the line also has the expression that the function returns.
    let table = line
        .strip_suffix(';')
        .and_then(|line| line.split_once(" => ").or_else(|| line.split_once(" = ")));
    let line = table.map_or(line, |(signature, _)| signature);
    is_function.then(|| line.trim_end_matches(['{', ' ']))
}

/// Returns the number of the first line after the commands at the top of a cell.
fn first_line_of_rust(cell: &str) -> usize {
    let commands = cell.lines().take_while(|line| line.starts_with([':', '!']));
    commands.count() + 1
}

/// Shortens `taper::prelude::Linear` to `Linear`, unless there are two types of this name.
fn shorten_paths(diagnostic: &mut Diagnostic) {
    if diagnostic.has_two_types_of_one_name() {
        return;
    }
    let shorten = |text: &mut String| {
        for path in [
            "taper::prelude::",
            "taper::nn::",
            "std::ops::",
            "std::string::",
        ] {
            *text = text.replace(path, "");
        }
        // rustc writes the path, because Candle has a type of this name too.
        *text = text.replace("taper::Tensor", "Tensor");
    };
    shorten(&mut diagnostic.message);
    for label in &mut diagnostic.labels {
        shorten(&mut label.text);
    }
    for note in &mut diagnostic.notes {
        shorten(&mut note.message);
        let code = note.edits.iter_mut().map(|edit| &mut edit.text);
        // An import needs the whole path.
        code.filter(|text| !text.starts_with("use "))
            .for_each(shorten);
    }
}
