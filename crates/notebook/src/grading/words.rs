//! Words that reach beyond safe Rust, into the compiler, or out of the process of the cells.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use std::collections::BTreeSet;

/// Refused wherever they stand.
const ANYWHERE: [&str; 21] = [
    "unsafe",
    "extern",
    "macro_rules",
    "asm",
    "global_asm",
    "naked_asm",
    "no_mangle",
    "export_name",
    "link_section",
    "link_name",
    "link",
    "no_implicit_prelude",
    "macro_use",
    "macro_export",
    "global_allocator",
    "panic_handler",
    "set_hook",
    "take_hook",
    "update_hook",
    "no_std",
    "no_core",
];
/// Refused as macros.
const MACROS: [&str; 5] = [
    "include",
    "include_str",
    "include_bytes",
    "env",
    "option_env",
];
/// Refused as parts of a path: modules of the standard library through which a cell reaches other processes, files, and
/// the descriptors of its own process.
const MODULES: [&str; 6] = ["process", "fs", "os", "env", "net", "arch"];

/// A token, without the structure of brackets.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Word(String),
    /// A character of an operator, and whether the next one belongs to it.
    Punct(char, bool),
    /// An opening parenthesis.
    Call,
    Other,
}

impl Token {
    pub(super) fn word(&self) -> Option<String> {
        match self {
            Token::Word(word) => Some(word.clone()),
            _ => None,
        }
    }

    pub(super) fn is(&self, character: char) -> bool {
        matches!(self, Token::Punct(found, _) if *found == character)
    }
}

/// Returns the tokens of a cell, or none if it is not Rust.
pub(super) fn tokens(source: &str) -> Vec<Token> {
    let source = taper_rust_cell::commands::without_commands(source);
    source.parse().map(flat).unwrap_or_default()
}

pub(super) fn flat(stream: TokenStream) -> Vec<Token> {
    let mut tokens = Vec::new();
    for tree in stream {
        match tree {
            TokenTree::Ident(word) => {
                let word = word.to_string();
                tokens.push(Token::Word(word.trim_start_matches("r#").to_owned()));
            }
            TokenTree::Punct(punct) => {
                tokens.push(Token::Punct(
                    punct.as_char(),
                    punct.spacing() == Spacing::Joint,
                ));
            }
            TokenTree::Group(group) => {
                let is_call = group.delimiter() == Delimiter::Parenthesis;
                tokens.push(if is_call { Token::Call } else { Token::Other });
                tokens.extend(flat(group.stream()));
                tokens.push(Token::Other);
            }
            TokenTree::Literal(_) => tokens.push(Token::Other),
        }
    }
    tokens
}

/// Returns the first word that is refused and not among `allowed`.
pub(super) fn refused(tokens: &[Token], allowed: &BTreeSet<String>) -> Option<String> {
    let mut imports = false;
    for (at, token) in tokens.iter().enumerate() {
        if token.is(';') {
            imports = false;
        }
        let Token::Word(word) = token else { continue };
        imports |= word == "use";
        let next = tokens.get(at + 1);
        let is_macro = next.is_some_and(|next| next.is('!'));
        let is_path =
            imports || begins_path(tokens, at + 1) || (at >= 2 && begins_path(tokens, at - 2));
        let is_refused = ANYWHERE.contains(&word.as_str())
            || (is_macro && MACROS.contains(&word.as_str()))
            || (is_path && MODULES.contains(&word.as_str()));
        if is_refused && !allowed.contains(word) {
            return Some(word.clone());
        }
    }
    None
}

/// Returns whether `::` is at this index.
pub(super) fn begins_path(tokens: &[Token], at: usize) -> bool {
    matches!(tokens.get(at), Some(Token::Punct(':', true)))
        && tokens.get(at + 1).is_some_and(|next| next.is(':'))
}
