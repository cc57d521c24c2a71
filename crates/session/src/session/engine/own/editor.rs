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

/// Returns the completions at the byte `cursor`, with signatures.
pub(super) fn complete(analysis: &Analysis, source: Source, cursor: usize) -> Completions {
    let mut found = analysis.complete(source, cursor);
    found.items.iter_mut().for_each(describe);
    found
}

fn describe(item: &mut Completion) {
    let paragraph = item.documentation.split("\n\n").next().unwrap_or_default();
    item.documentation = completions::first_sentence(&documentation::text_of(paragraph));
    // Without a signature: a macro, or a function that is not called here.
    let has_signature = item.label.contains('(') && !item.label.ends_with("(…)");
    if item.kind == "function" && has_signature && !item.label.contains('!') {
        item.kind = completions::kind_of(&item.label);
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
