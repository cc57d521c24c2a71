//! Finds unmatched brackets, which rustc would match with those of evcxr's code.

use super::diagnostic::{Diagnostic, Label};
use crate::session::tokens::with_offsets;

/// Returns the bracket that is open at the end of the cell, or closed by a bracket of another kind.
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
            true => "nothing is open here",
            false => "it is not closed by this one",
        };
        Label::at(at, token, text, cell)
    });
    let labels: Vec<Label> = opened.into_iter().chain(closed).collect();
    (!labels.is_empty()).then(|| Diagnostic {
        is_error: true,
        message: "the brackets do not match".to_owned(),
        labels,
        ..Diagnostic::default()
    })
}

fn closing(bracket: &str) -> &'static str {
    match bracket {
        "(" => ")",
        "[" => "]",
        _ => "}",
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
}
