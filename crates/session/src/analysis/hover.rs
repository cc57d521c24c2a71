//! Shows what a name means.

use super::packages::CELLS;
use super::server::Server;
use super::source::Source;

/// What separates the parts of an answer of rust-analyzer.
const RULE: &str = "\n\n---\n\n";

/// Returns what is known about the name at the byte `cursor` of the cell, in Markdown: the module of its definition,
/// the definition, and its documentation. The outer `None` means that the server does not answer.
pub(super) fn at(server: &mut Server, source: &Source, cursor: usize) -> Option<Option<String>> {
    let answer = server.ask("textDocument/hover", &source.text, source.offset(cursor))?;
    Some(answer["contents"]["value"].as_str().map(shown))
}

/// Returns an answer without the module of what a cell defines, and without the first rule.
fn shown(markdown: &str) -> String {
    let (definition, documentation) = markdown.split_once(RULE).unwrap_or((markdown, ""));
    let definition = definition.trim();
    let after_module = definition.split_once("\n```\n\n").filter(|(module, _)| {
        let module = module.trim_start_matches("```rust\n");
        module.split("::").next() == Some(CELLS)
    });
    let definition = match after_module {
        Some((_, own)) => own.to_owned(),
        // Skeletons have no private fields.
        None => definition.replacen("{}\n", "{ /* … */ }\n", 1),
    };
    format!("{definition}\n\n{documentation}")
}
