//! What to do about panics whose message is one of Rust's library.

use super::hints::TABLES;
use crate::syntax::Syntax;
use ra_ap_syntax::ast::{self, AstNode};
use std::ops::Range;

/// How a panic begins where there is an error in place of a value.
const UNWRAP: &str = "called `Result::unwrap()` on an `Err` value";

/// What to do about it in the statements of a cell.
const QUESTION_MARK: &str =
    "Write `?` in place of `.unwrap()`: then the cell ends with the error itself.";

/// Adds a line about what to do, unless the message has one. `is_unwrapped` says whether the statements of the cell
/// contain the `.unwrap()` that panicked.
pub(super) fn with_advice(message: &str, is_unwrapped: bool) -> String {
    let mut rows = TABLES.panics.iter();
    let row = rows.find(|(begin, end, _)| message.starts_with(begin) && message.ends_with(end));
    match row {
        Some((begin, _, advice)) if message.lines().count() == 1 => {
            let advice = match *begin == UNWRAP && is_unwrapped {
                true => QUESTION_MARK,
                false => advice,
            };
            format!("{message}\n{advice}")
        }
        _ => or_none(message).to_owned(),
    }
}

/// Returns whether a statement on a line of the cell contains `.unwrap()`, rather than a function or a closure.
pub(super) fn unwraps(code: &str, line: usize) -> bool {
    let before = code.split_inclusive('\n').take(line - 1);
    let start: usize = before.map(str::len).sum();
    let text = code[start..].lines().next().unwrap_or_default();
    let Some(at) = text.find(".unwrap()") else {
        return false;
    };
    let syntax = Syntax::of(code);
    let is_around = |range: Range<usize>| range.contains(&(start + at));
    let mut functions = syntax.all::<ast::Fn>();
    let mut closures = syntax.all::<ast::ClosureExpr>();
    !functions.any(|it| is_around(syntax.range(it.syntax().text_range())))
        && !closures.any(|it| is_around(syntax.range(it.syntax().text_range())))
}

/// Returns the message, or a placeholder for an empty one.
pub(super) fn or_none(message: &str) -> &str {
    match message.trim().is_empty() {
        true => "(no message)",
        false => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_given_once_and_only_where_there_is_none() {
        let advice = |message: &str| with_advice(message, false);
        let advised = advice("index out of bounds: the len is 2 but the index is 2");
        assert_eq!(advised.lines().count(), 2);
        assert_eq!(advice(&advised), advised);
        assert_eq!(advice("what\nwhat to do"), "what\nwhat to do");
        assert_eq!(advice(" "), "(no message)");
        // A message of the user's that contains words of Rust's library.
        for own in [
            "boom",
            "this book is already borrowed",
            "no entry found for key x",
            "attempt to shift the blame",
            "range of values",
        ] {
            assert_eq!(advice(own), own);
        }
    }

    #[test]
    fn advice_is_true_of_the_kind_of_panic() {
        for (message, phrase) in [
            (
                "index out of bounds: the len is 0 but the index is 0",
                "There is no element",
            ),
            (
                "range end index 5 out of range for slice of length 1",
                "ends at the length",
            ),
            ("attempt to shift left with overflow", "31 bits at most"),
            (
                "attempt to negate with overflow",
                "does not fit into its type",
            ),
            (
                "attempt to subtract with overflow",
                "does not fit into its type",
            ),
            (
                "attempt to calculate the remainder with a divisor of zero",
                "divided by 0",
            ),
            (
                "called `Result::unwrap()` on an `Err` value: Any { .. }",
                "or what `downcast`",
            ),
            (
                "called `Result::unwrap()` on an `Err` value: PoisonError { .. }",
                "held the lock",
            ),
            (
                "RefCell already mutably borrowed",
                "is being changed elsewhere",
            ),
            (
                "end byte index 1 is not a char boundary; it is inside 'ä' (bytes 0..2) of `äb`",
                ".chars()",
            ),
        ] {
            let advised = with_advice(message, false);
            let advice = advised.lines().nth(1).unwrap_or_default();
            assert!(advice.contains(phrase), "{advised}");
        }
    }
}
