//! The tokens of a cell, for what can be told without a parser.

use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// The tokens with the bytes where they begin, without blanks and comments.
pub(crate) fn with_offsets(code: &str) -> Vec<(usize, TokenKind, &str)> {
    let mut at = 0;
    let mut found = Vec::new();
    for token in tokenize(code, FrontmatterAllowed::No) {
        let end = at + token.len as usize;
        let is_blank = matches!(
            token.kind,
            TokenKind::Whitespace | TokenKind::LineComment { .. } | TokenKind::BlockComment { .. }
        );
        if !is_blank {
            found.push((at, token.kind, &code[at..end]));
        }
        at = end;
    }
    found
}

/// The tokens' texts, without blanks and comments.
pub(crate) fn texts(code: &str) -> Vec<&str> {
    let tokens = with_offsets(code).into_iter();
    tokens.map(|(_, _, text)| text).collect()
}

/// How many brackets are open after `token`, if `depth` were before it.
pub(crate) fn deeper(depth: usize, token: &str) -> usize {
    match token {
        "{" | "(" | "[" => depth + 1,
        "}" | ")" | "]" => depth.saturating_sub(1),
        _ => depth,
    }
}

/// Whether a token is a name (or a keyword).
pub(crate) fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}
