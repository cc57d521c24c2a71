//! The tokens of a cell, as the compiler's lexer reads them, also of code that is not valid.

use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// Returns all tokens, with their byte offsets and their texts.
pub fn tokens(code: &str) -> impl Iterator<Item = (usize, TokenKind, &str)> {
    let mut end = 0;
    tokenize(code, FrontmatterAllowed::No).map(move |token| {
        let start = end;
        end += token.len as usize;
        (start, token.kind, &code[start..end])
    })
}

/// Returns whether a token is whitespace or a comment.
pub fn is_blank(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Whitespace | TokenKind::LineComment { .. } | TokenKind::BlockComment { .. }
    )
}
