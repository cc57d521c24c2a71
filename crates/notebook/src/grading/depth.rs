//! Cells that parsers would not survive: they descend into nested code by recursion.

use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// How deeply brackets may be nested, as in a session.
const BRACKETS: usize = 256;
/// How many tokens may follow each other without a comma, a semicolon or a brace: each could be an operator in front of the
/// next.
const TOKENS: usize = 1000;

/// Returns whether the code is nested too deeply.
pub(super) fn is_too_deep(source: &str) -> bool {
    let (mut depth, mut run) = (0_usize, 0);
    tokenize(source, FrontmatterAllowed::No).any(|token| {
        match token.kind {
            TokenKind::OpenParen | TokenKind::OpenBracket => depth += 1,
            TokenKind::CloseParen | TokenKind::CloseBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        run = match token.kind {
            TokenKind::OpenBrace => {
                depth += 1;
                0
            }
            TokenKind::CloseBrace => {
                depth = depth.saturating_sub(1);
                0
            }
            TokenKind::Comma | TokenKind::Semi => 0,
            TokenKind::Whitespace
            | TokenKind::LineComment { .. }
            | TokenKind::BlockComment { .. } => run,
            _ => run + 1,
        };
        depth > BRACKETS || run > TOKENS
    })
}

#[cfg(test)]
mod tests {
    use super::is_too_deep;

    #[test]
    fn only_nested_code_is_too_deep() {
        let deep = |open: &str, close: &str| {
            is_too_deep(&format!("{}1{}", open.repeat(3000), close.repeat(3000)))
        };
        assert!(deep("(", ")") && deep("[", "]") && deep("{", "}"));
        assert!(deep("!", "") && deep("- ", "") && deep("1 + ", "") && deep("", ".abs()"));
        assert!(!deep("1, ", "") && !deep("x;\n", "") && !deep("// (((\n", "") && !deep("", " "));
        assert!(!is_too_deep(&format!("\"{}\"", "(".repeat(3000))));
    }
}
