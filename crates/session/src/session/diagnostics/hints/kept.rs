//! Variables that cannot be kept for the next cell.

use crate::session::diagnostics::diagnostic::{Diagnostic, Label};
use crate::session::tokens::with_offsets;

/// Returns the error about a variable whose type has no name, such as a closure.
pub(crate) fn nameless(name: &str, is_closure: bool, cell: &str) -> Diagnostic {
    let (what, hint) = match is_closure {
        true => (
            format!("the closure `{name}` cannot be kept"),
            format!(
                "a variable that is kept for later cells needs a type with a name, and a closure has none. \
                 Write a function, `fn {name}(…) -> … {{ … }}`; \
                 or, if it uses other variables, `let {name}: Box<dyn Fn(f64) -> f64> = Box::new(move |x| …);`."
            ),
        ),
        false => (
            format!("`{name}` has a type without a name and cannot be kept"),
            "a variable that is kept for later cells needs a type with a name. \
             Turn an iterator into a list with `.collect::<Vec<_>>()`, or box a function: `Box::new(…)`, with its type `Box<dyn Fn(f64) -> f64>`."
                .to_owned(),
        ),
    };
    error(name, what, hint, cell)
}

/// Returns the error about a variable that borrows from what does not live longer than the cell.
pub(crate) fn borrowed(name: &str, cell: &str) -> Diagnostic {
    let hint = format!(
        "variables live on between cells, but a borrowed value cannot. Keep an owned value: \
         `.clone()` or `.to_owned()` for data, `.collect::<Vec<_>>()` for an iterator. \
         Or write all lines that use `{name}` in one cell, between `{{` and `}}`."
    );
    let what = format!("`{name}` borrows from another value and cannot be kept");
    error(name, what, hint, cell)
}

fn error(name: &str, message: String, hint: String, cell: &str) -> Diagnostic {
    Diagnostic {
        is_error: true,
        message,
        labels: definition(name, cell).into_iter().collect(),
        hint: Some(hint),
        ..Diagnostic::default()
    }
}

/// Returns the last place where `let` defines the variable.
fn definition(name: &str, cell: &str) -> Option<Label> {
    let tokens = with_offsets(cell);
    let begins = |at: usize| matches!(tokens[at].2, "let" | "mut" | "(" | ",");
    let made = (1..tokens.len()).rfind(|&at| tokens[at].2 == name && begins(at - 1))?;
    Some(Label::at(tokens[made].0, name, "", cell))
}
