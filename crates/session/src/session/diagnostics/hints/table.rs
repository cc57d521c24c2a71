//! Hints by the compiler's code and a part of its text: sentences that are true of each error of the row.

use super::hint::{Hint, besides, is_number, quoted};
use super::tables::TABLES;
use crate::session::diagnostics::context::{Body, Context};
use crate::session::diagnostics::diagnostic::Diagnostic;

/// Returns the hint of the first row that fits.
pub(super) fn hint(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    if let Some(text) = unknown_type(diagnostic, context).or_else(|| other(diagnostic, context)) {
        return Some(besides(text));
    }
    let code = diagnostic.code.as_deref().unwrap_or_default();
    let mut rows = TABLES.errors.iter();
    let (_, part, text) = rows.find(|row| row.0 == code && says(diagnostic, &row.1))?;
    let has_edits = diagnostic.notes.iter().any(|note| !note.edits.is_empty());
    if part.is_empty() && has_edits {
        // The compiler's suggestion is better than a hint about all errors of this code.
        return None;
    }
    Some(besides(text.replace("{}", quoted(&diagnostic.message))))
}

fn says(diagnostic: &Diagnostic, text: &str) -> bool {
    let mut labels = diagnostic.labels.iter();
    let mut notes = diagnostic.notes.iter();
    diagnostic.message.contains(text)
        || labels.any(|label| label.text.contains(text))
        || notes.any(|note| note.message.contains(text))
}

/// Explains a type that Rust cannot infer.
fn unknown_type(diagnostic: &Diagnostic, context: &Context) -> Option<String> {
    const ELEMENTS: &str =
        "write the type of the elements: `x.to_vec1::<f32>()`; one element is `x.item()`.";
    let message = &*diagnostic.message;
    match diagnostic.code.as_deref()? {
        "E0277" if message.contains("`!: WithDType`") => return Some(ELEMENTS.to_owned()),
        // Where nothing says which type, it is `!`.
        "E0277" if message.starts_with("the trait bound `!: ") => {
            let name = context.defined_variable(diagnostic);
            let name = name.as_deref().unwrap_or("x");
            return Some(format!(
                "Rust cannot tell which type is meant. Write it: `let {name}: f64 = …`."
            ));
        }
        "E0282" | "E0283" | "E0284" => {}
        _ => return None,
    }
    if says(diagnostic, "WithDType") {
        return Some(ELEMENTS.to_owned());
    }
    let has_edits = diagnostic.notes.iter().any(|note| !note.edits.is_empty());
    (!has_edits).then(|| {
        "Rust cannot tell which type is meant. Write it where the value is made, as in `let x: Vec<f64> = …`, \
         `Vec::<f64>::new()` or `.sum::<f64>()`."
            .to_owned()
    })
}

/// Explains errors whose hint depends on the place.
fn other(diagnostic: &Diagnostic, context: &Context) -> Option<String> {
    let text = match diagnostic.code.as_deref()? {
        "E0277" if diagnostic.message.contains("taper::tensor::Number: From<") => {
            let (_, kind) = diagnostic.message.split_once("From<")?;
            let kind = kind.split('>').next()?;
            match is_number(kind) {
                true => {
                    "a tensor calculates with `f64`, `f32`, `i64`, `i32`, `u32`, `u8` and `usize`: convert with `n as f64`."
                }
                false => {
                    "a tensor calculates with tensors, and with values of the types `f64`, `f32`, `i64`, `i32`, `u32`, `u8` and \
                          `usize`."
                }
            }
        }
        "E0267" if context.body(diagnostic) == Body::Closure => {
            "`break` and `continue` do not leave a closure. Write a `for` loop, or `return`, which ends this call of the closure."
        }
        "E0658" if diagnostic.message.contains("the `!` type") => match context.primary(diagnostic)
        {
            "!" => {
                "`!` is the result of a function that does not return. A type without values is `std::convert::Infallible`."
            }
            _ => {
                "a variable of this cell never gets a value, so it cannot be kept. Put `{ … }` around the lines that use it."
            }
        },
        _ => return None,
    };
    Some(text.to_owned())
}
