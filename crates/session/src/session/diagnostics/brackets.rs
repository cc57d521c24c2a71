//! Finds unmatched brackets, which rustc would match with those of an engine's code.

use super::diagnostic::{Diagnostic, Label};
use crate::session::tokens::{closing, with_offsets};
use ra_ap_rustc_lexer::TokenKind;
use taper_rust_cell::commands::{blank_out, is_colon_command};
use taper_rust_cell::tokens::tokens;

/// Returns an error for the bracket that is open at the end of the cell, or that is closed by a bracket
/// of another kind.
pub(crate) fn unmatched(cell: &str) -> Option<Diagnostic> {
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut wrong = None;
    for (at, _, token) in with_offsets(cell) {
        match token {
            "(" | "[" | "{" => open.push((at, token)),
            ")" | "]" | "}" if open.last().is_some_and(|(_, o)| closing(o) == token) => {
                open.pop();
            }
            ")" | "]" | "}" => {
                wrong = Some((at, token));
                break;
            }
            _ => {}
        }
    }
    let opened = open.last().map(|&(at, token)| {
        let text = format!("a `{}` is missing for this one", closing(token));
        Label::at(at, token, &text, cell)
    });
    let closed = wrong.map(|(at, token)| {
        let text = match open.is_empty() {
            true => "no bracket is open here",
            false => "this bracket does not close it",
        };
        Label::at(at, token, text, cell)
    });
    let labels: Vec<Label> = opened.into_iter().chain(closed).collect();
    (!labels.is_empty()).then(|| syntax_error("the brackets do not match", labels))
}

/// Returns an error for the place after which an engine would read the cell's lines as something else: a bracket that
/// closes nothing, a comment without an end, a `let` without a name.
pub(crate) fn dropped(cell: &str) -> Option<Diagnostic> {
    let rust = blank_out(cell, is_colon_command);
    for (at, kind, _) in tokens(&rust) {
        if let TokenKind::BlockComment {
            terminated: false, ..
        } = kind
        {
            let label = Label::at(at, "/*", "it begins here; `*/` is missing", cell);
            return Some(syntax_error("the comment has no end", vec![label]));
        }
    }
    let tokens = with_offsets(&rust);
    let mut depth = 0_usize;
    for (index, &(at, _, token)) in tokens.iter().enumerate() {
        match token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => {
                let label = Label::at(at, token, "no bracket is open here", cell);
                return Some(syntax_error("the brackets do not match", vec![label]));
            }
            ")" | "]" | "}" => depth -= 1,
            "let" if depth == 0 => {
                let next = tokens.get(index + 1).map_or(";", |&(.., token)| token);
                if matches!(next, ";" | "=" | ":" | "}") {
                    let labels = vec![Label::at(at, token, "a name is missing after it", cell)];
                    return Some(syntax_error("`let` needs a name: `let x = 1;`", labels));
                }
            }
            _ => {}
        }
    }
    None
}

fn syntax_error(message: &str, labels: Vec<Label>) -> Diagnostic {
    Diagnostic {
        is_error: true,
        message: message.to_owned(),
        labels,
        ..Diagnostic::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_brackets_that_do_not_match_are_marked() {
        let marked = |cell| {
            let labels = unmatched(cell).map(|d| d.labels).unwrap_or_default();
            labels.iter().map(|label| label.start).collect::<Vec<_>>()
        };
        assert_eq!(marked("f(\"(\")\n{ [1] // )"), [(2, 1)]);
        assert_eq!(marked("f(1]"), [(1, 2), (1, 4)]);
        assert_eq!(marked("f())"), [(1, 4)]);
        assert_eq!(marked("f()"), []);
    }

    #[test]
    fn lines_that_would_be_dropped_are_found() {
        let at = |cell| dropped(cell).map(|d| d.labels[0].start);
        assert_eq!(at("}\nlet x = 1;"), Some((1, 1)));
        assert_eq!(at("1\n/* begins\nlet zz = 3;"), Some((2, 1)));
        assert_eq!(at("let"), Some((1, 1)));
        assert_eq!(at("let = 3;"), Some((1, 1)));
        for cell in [
            "f(1]",
            ":doc ]",
            "\"}\" // )",
            "let x = 1;",
            "if let Some(x) = y {}",
            "::std::mem::drop(\n1\n);",
        ] {
            assert_eq!(at(cell), None, "{cell}");
        }
    }
}
