//! Words that reach beyond safe Rust, into the engine, or out of the process of the cells.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use std::collections::BTreeSet;

/// Refused wherever they stand. In the edition of cells, all that is not safe is named by `unsafe`, also in attributes and
/// in front of `extern`, but for the machine code of a crate. The last are the engine's own crate, and what shows a value as
/// that of the cell or removes what the cell has shown.
const ANYWHERE: [&str; 8] = [
    "unsafe",
    "extern",
    "global_asm",
    "macro_rules",
    "cell_support",
    "evcxr_display",
    "show_value",
    "clear_output",
];
/// Refused as macros and as parts of a path: modules and macros of the standard library through which a cell reaches other
/// processes, files, and the descriptors of its own process.
const OUTSIDE: [&str; 9] = [
    "process",
    "fs",
    "os",
    "env",
    "net",
    "include",
    "include_str",
    "include_bytes",
    "option_env",
];

/// Returns the tokens of a cell, or none if it is not Rust.
pub(super) fn tokens(source: &str) -> Vec<String> {
    let source = taper_rust_cell::commands::without_commands(source);
    source.parse().map(flat).unwrap_or_default()
}

/// Returns tokens without the structure of brackets, and with `::` as one.
pub(super) fn flat(stream: TokenStream) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut is_joint = false;
    for tree in stream {
        let was_joint = is_joint;
        is_joint = matches!(&tree, TokenTree::Punct(it) if it.spacing() == Spacing::Joint);
        match tree {
            TokenTree::Group(group) => {
                let is_call = group.delimiter() == Delimiter::Parenthesis;
                tokens.push(if is_call { "(" } else { "[" }.to_owned());
                tokens.extend(flat(group.stream()));
                tokens.push(")".to_owned());
            }
            tree => {
                let text = tree.to_string();
                let is_path = was_joint && text == ":" && tokens.pop_if(|it| *it == ":").is_some();
                let text = if is_path { "::" } else { &text };
                tokens.push(text.to_owned());
            }
        }
    }
    tokens
}

/// Returns whether a token is a name or a keyword.
pub(super) fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first == '_' || first.is_alphabetic())
}

/// Returns the words that are refused in a submission, unless the assignment uses them in the same way.
pub(super) fn refused(tokens: &[String]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut imports = false;
    for (at, token) in tokens.iter().enumerate() {
        imports = (imports || token == "use") && token != ";";
        let is = |at: Option<usize>, text| at.is_some_and(|at| is_at(tokens, at, text));
        let (before, next) = (at.checked_sub(1), Some(at + 1));
        let is_path = is(before, "::") || (is(next, "::") && !is(before, "."));
        let is_macro = is(next, "!") && !is_at(tokens, at + 2, "=");
        let is_outside = imports || is_path || is_macro;
        if ANYWHERE.contains(&&**token) || (is_outside && OUTSIDE.contains(&&**token)) {
            found.insert(token.clone());
        }
    }
    found
}

/// Returns whether this token is at this index.
pub(super) fn is_at(tokens: &[String], at: usize, token: &str) -> bool {
    tokens.get(at).is_some_and(|found| found == token)
}
