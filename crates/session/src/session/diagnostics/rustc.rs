//! Turns rustc's JSON into a [`Diagnostic`] whose positions are in the cell.

use super::diagnostic::{Diagnostic, Edit, Label, Note};
use crate::compile::is_error;
use crate::session::source_map::{Position, SourceMap, byte_offset, position_of};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// A message as evcxr reports it. evcxr finds the positions of most labels itself.
pub(crate) struct CompilerMessage<'a> {
    pub(crate) is_error: bool,
    pub(crate) message: String,
    pub(crate) code: Option<&'a str>,
    pub(crate) labels: Vec<Label>,
    /// rustc's message, or null if the message is evcxr's own.
    pub(crate) json: &'a Value,
}

#[derive(Default, Deserialize)]
struct Message {
    message: String,
    level: String,
    spans: Vec<Span>,
    children: Vec<Message>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: usize,
    column_start: usize,
    line_end: usize,
    column_end: usize,
    is_primary: bool,
    label: Option<String>,
    suggested_replacement: Option<String>,
    text: Vec<Text>,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

impl Span {
    fn start(&self) -> Position {
        (self.line_start, self.column_start)
    }

    fn end(&self) -> Position {
        (self.line_end, self.column_end)
    }

    fn is_compiled(&self) -> bool {
        self.file_name.ends_with("src/lib.rs")
    }
}

/// Reads the file in which the replacement of cargo keeps the compiler's messages.
pub(crate) fn read_messages(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let messages = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let messages = messages.filter_map(|mut message: Value| match message["message"].take() {
        Value::Null => None,
        message => Some(message),
    });
    messages.collect()
}

/// Returns the errors among the compiler's messages: those about the cell, or all errors if none is
/// about the cell.
pub(crate) fn errors(messages: &[Value], compiled: &SourceMap) -> Vec<Diagnostic> {
    let errors = messages.iter().filter(|message| is_error(message));
    let mut errors: Vec<Diagnostic> = errors.map(|json| read_json(json, compiled)).collect();
    if errors.iter().any(|error| !error.labels.is_empty()) {
        errors.retain(|error| !error.labels.is_empty());
    }
    errors
}

/// Returns the warnings about values that the cell does not use, such as a `Result`. Other warnings are about
/// style, or about variables that a later cell uses.
pub(crate) fn warnings(messages: &[Value], compiled: &SourceMap) -> Vec<Diagnostic> {
    let is_wanted = |message: &&Value| {
        message["level"] == "warning" && message["code"]["code"] == "unused_must_use"
    };
    let warnings = messages.iter().filter(is_wanted);
    let warnings = warnings.map(|json| read_json(json, compiled));
    warnings
        .filter(|warning| !warning.labels.is_empty())
        .collect()
}

fn read_json(json: &Value, compiled: &SourceMap) -> Diagnostic {
    let message = CompilerMessage {
        is_error: json["level"] == "error",
        message: json["message"].as_str().unwrap_or_default().to_owned(),
        code: json["code"]["code"].as_str(),
        labels: Vec::new(),
        json,
    };
    read(message, compiled)
}

/// Reads a message about the source `compiled`.
pub(crate) fn read(reported: CompilerMessage, compiled: &SourceMap) -> Diagnostic {
    let rustc: Message = serde_json::from_value(reported.json.clone()).unwrap_or_default();
    let mut labels = reported.labels;
    let primary = rustc.spans.iter().find(|span| span.is_primary);
    if labels.is_empty() {
        labels.extend(primary.and_then(|span| label(span, compiled)));
    }
    let seen = labels.len();
    let near = labels.iter().find(|l| l.primary).or(labels.first());
    let near = near.map(|label| label.start.0);
    let notes = rustc.children.iter();
    let mut diagnostic = Diagnostic {
        is_error: reported.is_error,
        message: reported.message.trim_start_matches("error: ").to_owned(),
        code: reported.code.map(str::to_owned),
        notes: notes.filter_map(|n| note(n, near, compiled)).collect(),
        labels,
        hint: None,
    };
    if reported.code.is_none() && rustc.spans.len() > seen {
        remove_what_was_found(&mut diagnostic.message);
    }
    shorten_paths(&mut diagnostic);
    diagnostic
}

/// Shortens ``expected `;`, found keyword `fn` ``, where the `fn` is evcxr's.
fn remove_what_was_found(message: &mut String) {
    if let (true, Some(at)) = (message.starts_with("expected "), message.find(", found ")) {
        message.truncate(at);
    }
}

/// Returns the label for a span that is partly in evcxr's own code, or in code that evcxr has rewritten.
fn label(span: &Span, compiled: &SourceMap) -> Option<Label> {
    if !span.is_compiled() {
        return None;
    }
    let (start, end) = compiled
        .part(span.start(), span.end())
        .or_else(|| only_copy(span, compiled.cell()))?;
    Some(Label {
        start,
        end,
        text: span.label.clone().unwrap_or_default(),
        primary: true,
    })
}

/// Returns the position of the marked text, if it occurs once in the cell.
fn only_copy(span: &Span, cell: &str) -> Option<(Position, Position)> {
    let [Text { text }] = &span.text[..] else {
        return None;
    };
    let from = byte_offset(text, (1, span.column_start));
    let marked = text.get(from..byte_offset(text, (1, span.column_end)))?;
    let mut copies = cell.match_indices(marked);
    match (copies.next(), copies.next()) {
        (Some((at, _)), None) if marked.contains(char::is_alphanumeric) => {
            Some((position_of(cell, at), position_of(cell, at + marked.len())))
        }
        _ => None,
    }
}

/// The beginnings of notes that repeat the error, or that do not help.
const NOISE: [&str; 12] = [
    "cast through a raw pointer first",
    "the full name for the type has been written to",
    "consider using `--verbose`",
    "the following other types implement trait",
    "the trait `",
    "the nightly-only, unstable trait `Try`",
    "required for `",
    "required by a bound",
    "items from traits can only be used",
    "add `#[derive(Debug)]`",
    "`#[warn",
    "see issue #",
];

fn note(note: &Message, near: Option<usize>, compiled: &SourceMap) -> Option<Note> {
    if NOISE.iter().any(|noise| note.message.starts_with(noise)) {
        return None;
    }
    let is_help = note.level == "help";
    let mut message = note.message.clone();
    let suggests = note.spans.iter().any(|s| s.suggested_replacement.is_some());
    if !suggests && note.spans.iter().any(|span| !span.is_compiled()) {
        // A span in a library, of which only the signature of a function is worth showing.
        message = format!("{message}: `{}`", signature(note)?);
    }
    let edits = edits(note, near, compiled);
    if edits.is_none() && message.starts_with("consider annotating") {
        return None;
    }
    Some(Note {
        is_help,
        message,
        is_outside_cell: suggests && edits.is_none(),
        edits: edits.unwrap_or_default(),
    })
}

fn signature(note: &Message) -> Option<&str> {
    let line = note.spans.first()?.text.first()?.text.trim();
    let is_function = line.starts_with("pub fn ") || line.starts_with("fn ");
    is_function.then(|| line.trim_end_matches(['{', ' ']))
}

/// Returns the edits that rustc suggests, if all of them are in the cell.
fn edits(note: &Message, near: Option<usize>, compiled: &SourceMap) -> Option<Vec<Edit>> {
    let suggested = note.spans.iter();
    let suggested = suggested.filter_map(|s| Some((s, s.suggested_replacement.as_ref()?)));
    let edit = |(span, text): (&Span, &String)| {
        let (start, end) = if text.starts_with("use ") {
            // rustc would put it among evcxr's own lines.
            let top = (first_line_of_rust(compiled.cell()), 1);
            (top, top)
        } else {
            let place = |place| compiled.position(place, near);
            (place(span.start())?, place(span.end())?)
        };
        let text = text.clone();
        Some(Edit { start, end, text })
    };
    suggested.map(edit).collect()
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
