//! Cells that the engine does not compile, and variables that lived until their cell ended.

use crate::session::diagnostics::diagnostic::{Diagnostic, Label};
use crate::session::tokens::with_offsets;
use taper_engine::Gone;

/// Types that go through elements.
#[rustfmt::skip]
const ITERATORS: [&str; 25] = [
    "Chain<", "Chars<", "Chunks<", "Cloned<", "Copied<", "Cycle<", "Enumerate<", "Filter<", "FilterMap<", "FlatMap<",
    "Flatten<", "Iter<", "IterMut<", "Lines<", "Map<", "Peekable<", "Rev<", "Skip<", "Split<", "StepBy<", "Take<",
    "TakeWhile<", "Windows<", "Zip<", "impl Iterator",
];

/// Returns the error about an attribute that would change all cells.
pub(crate) fn of_crate(attribute: &str, cell: &str) -> Diagnostic {
    let at = cell.find(attribute);
    Diagnostic {
        is_error: true,
        message: format!("`{attribute}` would apply to all cells"),
        labels: at.map(|at| Label::at(at, attribute, "", cell)).into_iter().collect(),
        hint: Some(
            "all cells are one crate, and this attribute is one of a crate. Remove it; what sets the level of a lint, such \
             as `#![allow(unused)]`, applies to its cell."
                .to_owned(),
        ),
        ..Diagnostic::default()
    }
}

/// Returns the error about a variable of an earlier cell whose type other crates cannot name.
pub(crate) fn private(name: &str, cell: &str) -> Diagnostic {
    let mut tokens = with_offsets(cell).into_iter();
    let used = tokens.find(|(_, _, text)| *text == name);
    Diagnostic {
        is_error: true,
        message: format!("later cells cannot name the type of `{name}`"),
        labels: used
            .map(|(at, ..)| Label::at(at, name, "", cell))
            .into_iter()
            .collect(),
        hint: Some(format!(
            "it is private to a package, or defined within a block. Write all lines that use `{name}` in one cell, or keep what \
             you need of it in a variable of another type."
        )),
        ..Diagnostic::default()
    }
}

/// Says why there is no variable of this name any more, and how to keep its value.
pub(crate) fn why_gone(name: &str, gone: &Gone) -> String {
    let Gone {
        kind,
        from,
        statement,
        ..
    } = gone;
    let is_closure = kind.starts_with("{closure");
    let is_iterator = ITERATORS.iter().any(|it| kind.contains(it));
    let what = match () {
        () if is_closure => "a closure".to_owned(),
        () if is_iterator => "an iterator".to_owned(),
        () if kind.contains("Future") || kind.starts_with("{async") => "a future".to_owned(),
        () if kind.is_empty() || kind.contains('{') => "a value".to_owned(),
        () => format!("a `{kind}`"),
    };
    let why = match from {
        Some(from) => format!(
            "`{name}` was {what} that borrows from `{from}`, and lived until its cell ended."
        ),
        None => format!("`{name}` was {what} that cannot be kept, and lived until its cell ended."),
    };
    let start = statement
        .find('|')
        .filter(|_| is_closure && !statement.contains("move |"));
    let how = match (start, from) {
        (Some(at), Some(from)) => format!(
            "To keep it, let it own `{from}`, or a clone of it: `{}move {}`",
            &statement[..at],
            &statement[at..]
        ),
        _ if is_iterator && statement.ends_with(';') => {
            let line = statement.trim_end_matches(';');
            format!("Keep a list: `{line}.collect::<Vec<_>>();`")
        }
        _ if is_closure => format!("Write a function, `fn {name}(…) -> … {{ … }}`."),
        (_, Some(from)) if kind.starts_with("&mut") => {
            format!("Change `{from}` itself, or write all lines that use `{name}` in one cell.")
        }
        (_, Some(_)) => format!(
            "Keep an owned value, with `.clone()` or `.to_owned()`, or write all lines that use `{name}` in one cell."
        ),
        _ => format!("Write all lines that use `{name}` in one cell."),
    };
    format!("{why} {how}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(kind: &str, from: Option<&str>, statement: &str) -> Gone {
        Gone {
            cell: 1,
            kind: kind.to_owned(),
            from: from.map(str::to_owned),
            statement: statement.to_owned(),
        }
    }

    #[test]
    fn the_form_that_keeps_the_value_is_shown() {
        let shout = gone(
            "{closure@cell-1:1:9: 1:12}",
            Some("s"),
            "let shout = |t: &str| format!(\"{s}{t}\");",
        );
        let text = why_gone("shout", &shout);
        assert!(text.contains("borrows from `s`"), "{text}");
        assert!(
            text.contains("`let shout = move |t: &str| format!(\"{s}{t}\");`"),
            "{text}"
        );
        let doubled = gone(
            "Map<std::slice::Iter<'_, i32>, {closure@cell-1:1:9: 1:12}>",
            Some("v"),
            "let doubled = v.iter().map(|x| x * 2);",
        );
        let text = why_gone("doubled", &doubled);
        assert!(
            text.contains("`let doubled = v.iter().map(|x| x * 2).collect::<Vec<_>>();`"),
            "{text}"
        );
        let text = why_gone("first", &gone("&mut i32", Some("grid"), ""));
        assert!(text.contains("Change `grid` itself"), "{text}");
    }
}
