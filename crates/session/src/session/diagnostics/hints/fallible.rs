//! `Result`, `Option` and `?`.

use super::hint::{Hint, besides, quotes};
use crate::session::diagnostics::context::{Body, Context};
use crate::session::diagnostics::diagnostic::Diagnostic;

/// The codes of errors about a value that has another type than expected.
const ABOUT_VALUES: [&str; 9] = [
    "", "E0277", "E0308", "E0369", "E0599", "E0600", "E0605", "E0608", "E0609",
];

pub(super) fn hint(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    question_mark(diagnostic, context).or_else(|| unhandled_result(diagnostic, context))
}

/// Explains a `?` where it cannot be.
fn question_mark(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let label = diagnostic.primary().map_or("", |label| &label.text);
    let says = |text: &str| diagnostic.message.contains(text) || label.contains(text);
    if diagnostic.code.as_deref() != Some("E0277") || !diagnostic.message.contains("`?`") {
        return None;
    }
    if says("can only be used on `Result`s, not `Option`s") {
        return Some(besides(
            "this is an `Option`: a value, or nothing. Write `.ok_or(\"what is missing\")?`, or `.unwrap()`.",
        ));
    }
    if says("operator can only be used in") {
        let what = match context.body(diagnostic) {
            Body::Closure => "the closure",
            Body::Async => "the block",
            Body::Cell | Body::Function(_) => "the function",
        };
        return Some(besides(format!(
            "`?` returns an error to the caller, so {what} has to return a `Result` with `Ok(…)` at its end; or an `Option` with \
             `Some(…)`, if the `?` is for an `Option`."
        )));
    }
    if !says("can only be applied to values that implement `Try`") {
        return None;
    }
    let kind = quotes(label).last().unwrap_or_default();
    if kind.contains("Future") || kind.starts_with("{async") {
        return Some(besides(
            "a future has its value after `.await`: write `.await?`.",
        ));
    }
    Some(besides(match kind {
        "Tensor" if !context.defines_item("Tensor") => {
            "a function on tensors returns the tensor itself: remove the `?`. A wrong shape, type or index ends the cell with \
             its error."
        }
        _ => {
            "`?` is for a `Result` or an `Option`, and this is neither: remove the `?`. Functions on tensors and layers return \
             the value itself. For the documentation of a name, press Shift-Tab on it."
        }
    }))
}

/// Explains a `Result<Tensor>` where a tensor is expected.
fn unhandled_result(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    if !ABOUT_VALUES.contains(&diagnostic.code.as_deref().unwrap_or_default()) {
        return None;
    }
    let primary = diagnostic.primary().map_or("", |label| &label.text);
    // Where two types have this name, rustc writes the whole path.
    let said = [diagnostic.message.as_str(), primary].map(|text| text.replace("std::result::", ""));
    let says = |text: &str| said.iter().any(|said| said.contains(text));
    if says("found `Result<_, _>`") && says("expected `Tensor`") {
        return Some(besides(
            "a function on tensors returns the tensor itself, or panics; `attempt(|| …)` returns a `Result`.",
        ));
    }
    let is_wanted = [
        "expected `Result<",
        "expected `Option<",
        "returns `Result<",
        "compatible with `Result<",
        "value of type `Result<",
        // In a pattern.
        "found `Result<_, _>`",
    ];
    let has_a_result = says("`Result<") && !is_wanted.iter().any(|text| says(text));
    let is_told = |text: &str| {
        diagnostic
            .notes
            .iter()
            .any(|note| note.message.contains(text))
    };
    if !has_a_result || is_told("use the `?` operator") {
        return None;
    }
    let how = match context.body(diagnostic) {
        Body::Cell => "To get the value, write `?` after the call that returns it.",
        Body::Function(result) if result.contains("Result") => {
            "To get the value, write `?` after the call that returns it."
        }
        Body::Function(_) => {
            "To get the value, write `?` after the call that returns it, and let the function return a `Result`; or use \
             `match` for both cases."
        }
        Body::Closure | Body::Async => {
            "Use `match` for both cases, or `.unwrap()` to stop at an error."
        }
    };
    Some(besides(format!(
        "a `Result` holds a value or an error. {how}"
    )))
}

/// Explains a warning about a `Result` that is not used.
pub(super) fn ignored(diagnostic: &Diagnostic, context: &Context) -> Option<String> {
    if !diagnostic.message.contains("`Result`") {
        return None;
    }
    let ends_with = |end: &str| context.primary(diagnostic).ends_with(end);
    let how = if ends_with(".join()") {
        "Write `.unwrap()` before the `;`: then a panic of the thread is one of this cell."
    } else if ends_with(".lock()") || ends_with(".read()") || ends_with(".write()") {
        "Write `.unwrap()` before the `;`, and keep the guard in a variable: the lock is held while it lives."
    } else {
        match context.body(diagnostic) {
            Body::Cell => {
                "Write `?` before the `;`: then the cell stops at the error and shows it."
            }
            Body::Function(result) if result.contains("Result") => {
                "Write `?` before the `;`: then the function returns the error."
            }
            _ => {
                "Write `.unwrap()` before the `;` to stop at it, or `let _ =` before the call to ignore it."
            }
        }
    };
    Some(format!("an error would go unnoticed. {how}"))
}
