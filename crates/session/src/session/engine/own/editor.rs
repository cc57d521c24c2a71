//! Completes names and shows documentation, as the session presents them.

use crate::analysis::{Analysis, Hover, Source};
use crate::image::libraries;
use crate::session::{completions, documentation};
use std::path::Path;
use taper_engine::Engine;
use taper_evaluator::evaluator::{Completion, Completions};
use taper_evaluator::event::MimeBundle;

/// Starts the analysis of cells with the packages of the crate in `work`.
pub(super) fn start(work: &Path) -> Analysis {
    let work = work.to_owned();
    Analysis::start(move || libraries::metadata_of(&work))
}

/// Returns the source of a cell and of all that it can use.
pub(super) fn source(engine: &mut Engine, code: &str) -> Source {
    Source::new(code, |items| engine.surroundings(items))
}

/// Returns the completions at the byte `cursor`, with signatures; `None` while nothing is loaded yet.
pub(super) fn complete(analysis: &Analysis, source: Source, cursor: usize) -> Option<Completions> {
    let mut found = analysis.complete(source, cursor)?;
    found.items.iter_mut().for_each(describe);
    Some(found)
}

/// Returns completions of the name at the byte `cursor` from what is known without the analysis.
pub(super) fn known(engine: &Engine, code: &str, cursor: usize) -> Completions {
    let before = &code[..cursor];
    let start = before
        .char_indices()
        .rev()
        .take_while(|(_, c)| *c == '_' || c.is_alphanumeric())
        .last()
        .map_or(cursor, |(at, _)| at);
    let name = &before[start..];
    let is_method = before[..start].ends_with('.');
    let variables = engine.variables().map(|variable| &*variable.name);
    let names: Vec<&str> = match is_method {
        true => completions::FREQUENT.to_vec(),
        false if before[..start].ends_with(':') => Vec::new(),
        false => variables.collect(),
    };
    let items = names.into_iter().filter(|it| it.starts_with(name));
    Completions {
        start,
        end: cursor,
        items: items.map(|it| item(it, is_method)).collect(),
    }
}

fn item(name: &str, is_method: bool) -> Completion {
    let kind = if is_method { "function" } else { "instance" };
    Completion {
        text: name.to_owned(),
        kind: kind.to_owned(),
        label: name.to_owned(),
        documentation: String::new(),
    }
}

fn describe(item: &mut Completion) {
    let paragraph = item.documentation.split("\n\n").next().unwrap_or_default();
    item.documentation = completions::first_sentence(&documentation::text_of(paragraph));
    // Without a signature: a macro, or a function that is not called here.
    let has_signature = item.label.contains('(') && !item.label.ends_with("(…)");
    if item.kind == "function" && has_signature && !item.label.contains('!') {
        item.documentation = completions::with_result(&item.label, &item.documentation);
    }
}

/// Returns the documentation of what is at the byte `cursor`.
pub(super) fn inspect(analysis: &Analysis, source: Source, cursor: usize) -> Option<MimeBundle> {
    let Hover {
        path,
        signature,
        documentation,
    } = analysis.hover(source, cursor)?;
    let parts = path.iter().chain([&signature]);
    let code: Vec<String> = parts
        .map(|part| format!("```rust\n{part}\n```\n\n"))
        .collect();
    let markdown = code.concat() + &documentation;
    let bundle = [
        ("text/plain", documentation::text_of(&markdown)),
        ("text/html", documentation::page_of(&markdown)),
    ];
    let bundle = bundle.into_iter();
    Some(bundle.map(|(k, v)| (k.to_owned(), v.into())).collect())
}
