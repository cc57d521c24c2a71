//! Says what to do about a compile error where the compiler's own help is not enough: it knows nothing
//! of cells, of taper, or of Python.
//!
//! A hint is a claim about the user's code, so each of them first tests that it is true: where a sentence is true of some
//! errors of a code only, it depends on the types in the message and on what is around the place in the cell.
//!
//! - [`names`]: names that are missing;
//! - [`python`]: Python's syntax, functions and modules;
//! - [`tensor`]: methods and operators of PyTorch;
//! - [`numbers`]: arithmetic; [`fallible`]: a `Result` whose value or error is not taken;
//! - [`rules`]: patterns of the compiler's words;
//! - [`table`]: errors of the compiler by code and text;
//! - [`kept`]: variables that cannot be kept.
//!
//! Sentences that depend on a word or a pattern only are data: `hints.toml`, read by [`tables`].

mod fallible;
mod hint;
mod kept;
mod names;
mod numbers;
mod python;
mod rules;
mod table;
mod tables;
mod tensor;

#[cfg(test)]
mod tests;

use super::context::{Body, Context};
use super::diagnostic::Diagnostic;
use hint::{Hint, instead, quoted};
pub(crate) use kept::{of_crate, private, why_gone};
pub(super) use tables::TABLES;
pub use tables::sentences;

/// Adds the hint for a diagnostic.
pub(crate) fn add(diagnostic: &mut Diagnostic, context: &Context) {
    if diagnostic.hint.is_some() {
        return;
    }
    let hint = reword(diagnostic, context)
        .or_else(|| python::syntax(diagnostic, context))
        .or_else(|| names::hint(diagnostic, context))
        .or_else(|| python::function(diagnostic, context))
        .or_else(|| made_without_mut(diagnostic))
        .or_else(|| tensor::hint(diagnostic, context))
        .or_else(|| fallible::unhandled_result(diagnostic, context))
        .or_else(|| numbers::hint(diagnostic, context))
        .or_else(|| rules::hint(diagnostic, context))
        .or_else(|| table::hint(diagnostic));
    if let Some(hint) = hint {
        diagnostic.hint = Some(hint.text);
        if hint.instead {
            diagnostic.notes.clear();
        }
    }
}

/// Adds the hint for a warning about a value that the cell does not use.
pub(crate) fn add_to_warning(diagnostic: &mut Diagnostic, context: &Context) {
    if let Some(text) = fallible::ignored(diagnostic, context) {
        diagnostic.notes.clear();
        diagnostic.hint = Some(text);
    }
}

/// Rewords errors at the top level of a cell, which rustc sees as the body of a closure of the engine's.
fn reword(diagnostic: &mut Diagnostic, context: &Context) -> Option<Hint> {
    let code = diagnostic.code.as_deref();
    let is_return = diagnostic.message.starts_with("return type inferred to be");
    if context.body(diagnostic) != Body::Cell {
        return None;
    }
    let (message, text) = if is_return || code == Some("E0069") {
        (
            "`return` outside of a function".to_owned(),
            match context.primary(diagnostic) {
                text if text.starts_with("Err(") => {
                    "to end the cell with this error, write `?` after it, without `return`: `Err(…)?;`."
                }
                text if text.starts_with("Ok(") => "to end the cell here, write `return;`.",
                _ => {
                    "a cell shows the value of its last line if that does not end with `;`. Remove `return`."
                }
            },
        )
    } else if code == Some("E0267")
        && let Some((keyword, _)) = diagnostic.message.split_once(" inside of a")
    {
        (
            format!("{keyword} outside of a loop"),
            "`break` and `continue` are only allowed inside `loop`, `while` or `for`.",
        )
    } else {
        return None;
    };
    diagnostic.message = message;
    for label in &mut diagnostic.labels {
        label.text.clear();
    }
    Some(instead(text))
}

/// Explains assignments to a variable of an earlier cell, where rustc would change the engine's code.
fn made_without_mut(diagnostic: &Diagnostic) -> Option<Hint> {
    let mut notes = diagnostic.notes.iter();
    notes.find(|note| note.is_outside_cell && note.message.ends_with("to be mutable"))?;
    // The name of a field may be before it: "cannot assign to `p.x`, as `p` is not declared as mutable".
    let place = quoted(&diagnostic.message);
    let name = place.trim_start_matches('*').split(['.', '[']).next()?;
    Some(instead(format!(
        "an earlier cell made `{name}` without `mut`, so it cannot change. \
         Write `let mut {name} = …` there, or begin this cell with `let mut {name} = {name};`."
    )))
}
