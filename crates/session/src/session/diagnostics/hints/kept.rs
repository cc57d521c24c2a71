//! Variables that cannot be kept for the next cell, because their type has no name.

use super::hint::quoted;
use crate::session::diagnostics::diagnostic::{Diagnostic, Label};
use crate::session::tokens::with_offsets;

/// Turns evcxr's message about a variable whose type has no name into a diagnostic of the cell.
pub(crate) fn about_a_type(message: &str, cell: &str) -> Option<Diagnostic> {
    let name = quoted(message);
    let (what, hint) = if message.contains("is a closure") {
        (
            format!("the closure `{name}` cannot be kept"),
            format!(
                "a variable that is kept for later cells needs a type with a name, and a closure has none. \
                 Write a function, `fn {name}(…) -> … {{ … }}`; \
                 or, if it uses other variables, `let {name}: Box<dyn Fn(f64) -> f64> = Box::new(move |x| …);`."
            ),
        )
    } else if message.contains("cannot be persisted") {
        (
            format!("`{name}` has a type without a name and cannot be kept"),
            "a variable that is kept for later cells needs a type with a name. \
             Turn an iterator into a list with `.collect::<Vec<_>>()`, or box a function: `Box::new(…)`, with its type `Box<dyn Fn(f64) -> f64>`."
                .to_owned(),
        )
    } else if message.contains("determine type of variable") {
        (
            format!("the type of `{name}` is not clear"),
            format!("write it after the name: `let {name}: Vec<f64> = …`."),
        )
    } else {
        return None;
    };
    Some(Diagnostic {
        is_error: true,
        message: what,
        labels: definition(name, cell).into_iter().collect(),
        hint: Some(hint),
        ..Diagnostic::default()
    })
}

/// Returns the last place where `let` defines the variable.
pub(crate) fn definition(name: &str, cell: &str) -> Option<Label> {
    let tokens = with_offsets(cell);
    let begins = |at: usize| matches!(tokens[at].2, "let" | "mut" | "(" | ",");
    let made = (1..tokens.len()).rfind(|&at| tokens[at].2 == name && begins(at - 1))?;
    Some(Label::at(tokens[made].0, name, "", cell))
}
