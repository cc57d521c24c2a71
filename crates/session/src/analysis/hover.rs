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

/// Returns an answer without the module of what a cell defines, and without the first rule. Of the path of another type,
/// the name remains: modules inside of a crate are of no use to a reader.
fn shown(markdown: &str) -> String {
    let (definition, documentation) = markdown.split_once(RULE).unwrap_or((markdown, ""));
    let definition = definition.trim();
    let after_module = definition.split_once("\n```\n\n").map(|(module, own)| {
        let path = module.trim_start_matches("```rust\n");
        let name = path.rsplit("::").next().unwrap_or_default();
        let is_type = name.starts_with(char::is_uppercase);
        (
            path.split("::").next() == Some(CELLS),
            is_type.then_some(name),
            own,
        )
    });
    // Skeletons have no private fields.
    let without_fields = |own: &str| own.replacen("{}\n", "{ /* … */ }\n", 1);
    let definition = match after_module {
        Some((true, _, own)) => own.to_owned(),
        Some((_, Some(name), own)) => format!("```rust\n{name}\n```\n\n{}", without_fields(own)),
        _ => without_fields(definition),
    };
    format!("{definition}\n\n{documentation}")
}
