//! The tokens of a cell, for decisions that need no parser.

use ra_ap_rustc_lexer::TokenKind;
use taper_rust_cell::tokens::{is_blank, tokens};

/// Returns the tokens and their byte offsets, without whitespace and comments.
pub(crate) fn with_offsets(code: &str) -> Vec<(usize, TokenKind, &str)> {
    tokens(code)
        .filter(|(_, kind, _)| !is_blank(*kind))
        .collect()
}

/// Returns the texts of the tokens, without whitespace and comments.
pub(crate) fn texts(code: &str) -> Vec<&str> {
    let tokens = with_offsets(code).into_iter();
    tokens.map(|(_, _, text)| text).collect()
}

/// Returns the bracket that closes another one.
pub(crate) fn closing(bracket: &str) -> &'static str {
    match bracket {
        "(" => ")",
        "[" => "]",
        _ => "}",
    }
}

/// Returns the number of open brackets after `token`, given the number before it.
pub(crate) fn depth_after(depth: usize, token: &str) -> usize {
    match token {
        "{" | "(" | "[" => depth + 1,
        "}" | ")" | "]" => depth.saturating_sub(1),
        _ => depth,
    }
}

/// Returns whether a token is an identifier (or a keyword).
pub(crate) fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns whether a text is one identifier (or a keyword).
pub(crate) fn is_plain(text: &str) -> bool {
    is_name(text) && text.chars().all(|c| c == '_' || c.is_alphanumeric())
}
