//! Decides whether a cell's code is complete: brackets, strings and comments are closed, and the last
//! statement is complete.

use ra_ap_rustc_lexer::{DocStyle, LiteralKind, TokenKind};
use taper_evaluator::evaluator::Completeness;
use taper_rust_cell::tokens::tokens;

/// The keywords of statements that end with a block or a semicolon.
#[rustfmt::skip]
const KEYWORDS: [&str; 21] = [
    "async", "const", "else", "enum", "extern", "fn", "for", "if", "impl", "let", "loop", "macro_rules",
    "match", "mod", "pub", "static", "struct", "trait", "type", "unsafe", "while",
];

/// Returns whether the code is complete, judged by its tokens alone.
pub fn of(code: &str) -> Completeness {
    if code.starts_with("%%") {
        // The text of a script or a file ends with an empty line.
        return match code.ends_with("\n") {
            true => Completeness::Complete,
            false => incomplete(0),
        };
    }
    let mut open = Vec::new();
    let mut last = Statement::default();
    for (_, kind, text) in tokens(code) {
        match kind {
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
            TokenKind::Literal { kind, .. } if is_unterminated(kind) => {
                return Completeness::Incomplete {
                    indent: String::new(),
                };
            }
            _ => {}
        }
        if open.is_empty() {
            last.add(kind, text);
        }
    }
    if open.is_empty() && !last.is_incomplete() {
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

/// The tokens of the last statement outside of brackets. A group in brackets is its closing bracket.
#[derive(Default)]
struct Statement<'a> {
    tokens: Vec<(TokenKind, &'a str)>,
    /// Whether an attribute or a doc comment needs its item.
    needs_item: bool,
}

impl<'a> Statement<'a> {
    fn add(&mut self, kind: TokenKind, text: &'a str) {
        match kind {
            TokenKind::LineComment { doc_style } | TokenKind::BlockComment { doc_style, .. } => {
                self.needs_item |= doc_style == Some(DocStyle::Outer);
            }
            TokenKind::Whitespace => {}
            TokenKind::CloseBracket if matches!(self.tokens[..], [(TokenKind::Pound, _)]) => {
                *self = Statement {
                    needs_item: true,
                    ..Self::default()
                };
            }
            TokenKind::Semi | TokenKind::CloseBrace => *self = Self::default(),
            _ => self.tokens.push((kind, text)),
        }
    }

    fn is_incomplete(&self) -> bool {
        match &self.tokens[..] {
            [] => self.needs_item,
            [(TokenKind::Colon, _), ..] => false, // a command, `:vars`
            [(TokenKind::Ident, first), ..] if KEYWORDS.contains(first) => true,
            [.., before, (last, _)] => is_operator(*last, before.0),
            [(only, _)] => is_operator(*only, TokenKind::Semi),
        }
    }
}

/// Returns whether an operand must follow; `before` distinguishes `a.` from `a..`.
fn is_operator(last: TokenKind, before: TokenKind) -> bool {
    use TokenKind as T;
    match last {
        T::Dot => before != T::Dot,
        T::Eq | T::Plus | T::Minus | T::Star | T::Slash | T::Percent | T::Caret => true,
        T::And | T::Or | T::Comma | T::Colon | T::Bang | T::Lt => true,
        _ => false,
    }
}

fn is_unterminated(kind: LiteralKind) -> bool {
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
            "0..",
            "x?",
            "size_of::<f32>",
            "struct Point;",
            "#[derive(Debug)]\nstruct Point;",
            "/// A point.\nstruct Point;",
            "#![allow(unused)]",
            "if a { 1 } else { 2 }",
            "let x = 1; // {",
            ":dep rand",
            ":vars",
            "use std::fmt",
            "%time f(x)",
            "%%bash\necho \"\n",
            "zeros?",
        ] {
            assert_eq!(of(code), Completeness::Complete, "{code}");
        }
    }

    #[test]
    fn incomplete_code() {
        for code in [
            "fn f() {",
            "vec![1,",
            "(",
            "\"text",
            "r#\"text\"",
            "/* comment",
            "f(\n  1,\n",
            "fn f() -> i32",
            "let x",
            "let x =",
            "x +",
            "x.",
            "vec![1].iter()\n    .map(f).",
            "if a { 1 } else",
            "#[derive(Debug)]",
            "#[derive(Debug)]\n#[allow(unused)]",
            "/// A point.",
            "fn f() {}\npub fn g()",
            "%%bash\nls",
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
    fn invalid_brackets() {
        for code in [")", "fn f() }", "(]"] {
            assert_eq!(of(code), Completeness::Invalid, "{code}");
        }
    }
}
