//! Completes a name.

use super::server::Server;
use super::source::Source;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;
use taper_evaluator::evaluator::{Completion, Completions};

const QUESTION: &str = "textDocument/completion";

/// Names that only the source around a cell has.
const OWN: [&str; 2] = ["taper_cell", "taper_cell()"];

/// Cells that let rust-analyzer find out what first completions need: a name, a macro, a method. The last one
/// is prepared first.
pub(super) const FIRST: [&str; 3] = ["s", "vec![1.0].s", "zeros(2).s"];

/// Returns the completions at the byte `cursor` of the cell; `None` if the server does not answer.
pub(super) fn at(server: &mut Server, source: &Source, cursor: usize) -> Option<Completions> {
    let mut items = items(server, &source.text, source.offset(cursor))?;
    // Most relevant first.
    items.sort_by(|a, b| a.sort_text.cmp(&b.sort_text));
    let found = items.first().and_then(|first| {
        let range = first.text_edit.as_ref()?.range;
        let (start, end) = (
            range.start.in_text(&source.text),
            range.end.in_text(&source.text),
        );
        let before = source.text.get(start..end)?;
        // The first of several methods of one name is the one that is called.
        let mut names = HashSet::new();
        let items = items
            .iter()
            .filter(|item| item.name().starts_with(before))
            .filter_map(|item| completion(item, range))
            .filter(|it| !OWN.contains(&&*it.text) && names.insert(it.text.clone()));
        Some(Completions {
            start: source.in_cell(start, cursor),
            end: source.in_cell(end, cursor),
            items: items.collect(),
        })
    });
    Some(found.unwrap_or_else(|| Completions::none(cursor)))
}

/// Prepares the first completions of a user, with one of the cells [`FIRST`], until the next question. Returns `None` if
/// the server has ended.
pub(super) fn prepare(server: &mut Server, cell: &str) -> Option<()> {
    let text = format!("use taper::prelude::*;\nfn taper_cell() {{ {cell}");
    server.begin(QUESTION, &text, text.len()).map(drop)
}

fn items(server: &mut Server, text: &str, offset: usize) -> Option<Vec<Item>> {
    let mut answer = server.ask(QUESTION, text, offset)?;
    if answer.is_object() {
        answer = answer["items"].take();
    }
    Some(Vec::deserialize(answer).unwrap_or_default())
}

/// An item of the Language Server Protocol.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Item {
    label: String,
    kind: u8,
    detail: String,
    documentation: Documentation,
    sort_text: String,
    text_edit: Option<Edit>,
    additional_text_edits: Vec<Value>,
}

#[derive(Default, Deserialize)]
struct Documentation {
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Edit {
    range: Range,
    new_text: String,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
struct Range {
    start: Position,
    end: Position,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
struct Position {
    line: usize,
    character: usize,
}

impl Position {
    /// Returns the byte of the text at this position.
    fn in_text(self, text: &str) -> usize {
        let lines = text.split_inclusive('\n').take(self.line);
        lines.map(str::len).sum::<usize>() + self.character
    }
}

impl Item {
    /// Returns the name, which a user types.
    fn name(&self) -> &str {
        self.label.split('(').next().unwrap_or_default()
    }
}

// Kinds of items in the protocol.
const METHOD: u8 = 2;
const FUNCTION: u8 = 3;
const FIELD: u8 = 5;
const INTERFACE: u8 = 8;
const MODULE: u8 = 9;
const ENUM: u8 = 13;
const KEYWORD: u8 = 14;
const STRUCT: u8 = 22;
const TYPE_PARAMETER: u8 = 25;

/// Returns a completion, unless it changes the source in several places or elsewhere than in this range.
fn completion(item: &Item, range: Range) -> Option<Completion> {
    let name = item.name();
    let edit = item.text_edit.as_ref().filter(|it| it.range == range)?;
    let has_parameters = item.label.ends_with("(…)");
    let text = if item.additional_text_edits.is_empty() {
        let text = without_places(&edit.new_text);
        match text.find('(') {
            Some(open) if has_parameters => text[..=open].to_owned(),
            _ => text,
        }
    } else if item.kind == FIELD {
        // A field that can be called: `(x.field)()`.
        name.to_owned()
    } else {
        return None;
    };
    let is_function = matches!(item.kind, METHOD | FUNCTION);
    let signature = Some(&item.detail).filter(|_| is_function);
    let label = match signature.and_then(|it| it.split_once(&format!("fn {name}"))) {
        Some((_, rest)) => format!("{name}{}", rest.split(" where ").next().unwrap_or(rest)),
        None => item.label.clone(),
    };
    Some(Completion {
        text,
        kind: kind(item.kind).to_owned(),
        label,
        documentation: item.documentation.value.clone(),
    })
}

/// Returns a kind that JupyterLab knows.
fn kind(kind: u8) -> &'static str {
    match kind {
        METHOD | FUNCTION => "function",
        INTERFACE | ENUM | STRUCT | TYPE_PARAMETER => "class",
        MODULE => "module",
        KEYWORD => "keyword",
        _ => "instance",
    }
}

/// Returns a snippet without the places for the cursor: `$0`, `${1:text}`.
fn without_places(snippet: &str) -> String {
    let mut text = String::with_capacity(snippet.len());
    let mut rest = snippet;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let digits = |text: &str| {
            text.find(|c: char| !c.is_ascii_digit())
                .unwrap_or(text.len())
        };
        rest = match after.strip_prefix('{').and_then(|it| it.split_once('}')) {
            Some((place, rest)) => {
                text.push_str(place.split_once(':').map_or("", |(_, default)| default));
                rest
            }
            None => &after[digits(after)..],
        };
    }
    text + rest
}
