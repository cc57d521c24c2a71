//! Whether a cell's code has its end: brackets closed, strings and comments ended.

use super::evaluator::Completeness;
use ra_ap_rustc_lexer::{FrontmatterAllowed, LiteralKind, TokenKind, tokenize};

/// Looks at the tokens only; whether the code means something is the compiler's business.
pub fn of(code: &str) -> Completeness {
    let mut open = Vec::new();
    for token in tokenize(code, FrontmatterAllowed::No) {
        match token.kind {
            TokenKind::OpenParen => open.push(TokenKind::CloseParen),
            TokenKind::OpenBrace => open.push(TokenKind::CloseBrace),
            TokenKind::OpenBracket => open.push(TokenKind::CloseBracket),
            kind @ (TokenKind::CloseParen | TokenKind::CloseBrace | TokenKind::CloseBracket)
                if open.pop() != Some(kind) =>
            {
                return Completeness::Invalid;
            }
            TokenKind::BlockComment {
                terminated: false, ..
            } => return incomplete(open.len()),
            TokenKind::Literal { kind, .. } if is_unended(kind) => {
                return Completeness::Incomplete {
                    indent: String::new(),
                };
            }
            _ => {}
        }
    }
    if open.is_empty() {
        Completeness::Complete
    } else {
        incomplete(open.len())
    }
}

fn incomplete(depth: usize) -> Completeness {
    Completeness::Incomplete {
        indent: "    ".repeat(depth),
    }
}

fn is_unended(kind: LiteralKind) -> bool {
    matches!(
        kind,
        LiteralKind::Str { terminated: false }
            | LiteralKind::ByteStr { terminated: false }
            | LiteralKind::CStr { terminated: false }
            | LiteralKind::RawStr { n_hashes: None }
            | LiteralKind::RawByteStr { n_hashes: None }
            | LiteralKind::RawCStr { n_hashes: None }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_code() {
        for code in [
            "",
            "let x = 1;",
            "x",
            "fn f() { 1 }",
            "\"}\"",
            "'{'",
            "// {",
            "'a: loop {}",
            "r#\"(\"#",
        ] {
            assert_eq!(of(code), Completeness::Complete, "{code}");
        }
    }

    #[test]
    fn code_without_its_end() {
        for code in [
            "fn f() {",
            "vec![1,",
            "(",
            "\"text",
            "r#\"text\"",
            "/* comment",
            "f(\n  1,\n",
        ] {
            assert!(
                matches!(of(code), Completeness::Incomplete { .. }),
                "{code}"
            );
        }
        assert_eq!(
            of("fn f() { if x {"),
            Completeness::Incomplete {
                indent: " ".repeat(8)
            }
        );
    }

    #[test]
    fn closed_what_was_not_open() {
        for code in [")", "fn f() }", "(]"] {
            assert_eq!(of(code), Completeness::Invalid, "{code}");
        }
    }
}
