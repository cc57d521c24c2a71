//! A `Result` whose value or error is not taken.

use super::hint::{Hint, besides};
use crate::session::diagnostics::context::{Body, Context};
use crate::session::diagnostics::diagnostic::Diagnostic;

/// The codes of errors about a value that has another type than expected.
const ABOUT_VALUES: [&str; 9] = [
    "", "E0277", "E0308", "E0369", "E0599", "E0600", "E0605", "E0608", "E0609",
];

/// Explains a `Result<Tensor>` where a tensor is expected.
pub(super) fn unhandled_result(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
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
