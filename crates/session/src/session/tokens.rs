//! The tokens of a cell, for decisions that need no parser.

use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// Returns the tokens and their byte offsets, without whitespace and comments.
pub(crate) fn with_offsets(code: &str) -> Vec<(usize, TokenKind, &str)> {
    let mut at = 0;
    let mut found = Vec::new();
    for token in tokenize(code, FrontmatterAllowed::No) {
        let end = at + token.len as usize;
        let is_trivia = matches!(
            token.kind,
            TokenKind::Whitespace | TokenKind::LineComment { .. } | TokenKind::BlockComment { .. }
        );
        if !is_trivia {
            found.push((at, token.kind, &code[at..end]));
        }
        at = end;
    }
    found
}

/// Returns the texts of the tokens, without whitespace and comments.
pub(crate) fn texts(code: &str) -> Vec<&str> {
    let tokens = with_offsets(code).into_iter();
    tokens.map(|(_, _, text)| text).collect()
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
