//! Says what to do about a compile error where the compiler's own help is not enough: it knows nothing
//! of cells, of taper, or of Python.
//!
//! - [`python`]: Python's syntax, functions and modules;
//! - [`tensor`]: methods and operators of PyTorch;
//! - [`table`]: errors of the compiler by code and text;
//! - [`kept`]: cells that the engine refuses, and variables that it could not keep.

mod hint;
mod kept;
mod python;
mod table;
mod tensor;

use super::diagnostic::{Diagnostic, Note};
use crate::session::names::Names;
use hint::{Hint, besides, instead, marked, quoted};
pub(crate) use kept::{of_crate, private, why_gone};

/// Adds the hint for a diagnostic.
pub(crate) fn add(diagnostic: &mut Diagnostic, cell: &str, names: &Names) {
    if diagnostic.hint.is_some() {
        return;
    }
    let hint = reword(diagnostic)
        .or_else(|| python::syntax(diagnostic, cell))
        .or_else(|| missing_name(diagnostic, cell, names))
        .or_else(|| misused_name(diagnostic, cell))
        .or_else(|| not_mutable(diagnostic))
        .or_else(|| hidden_type(diagnostic))
        .or_else(|| tensor::hint(diagnostic, cell))
        .or_else(|| unhandled_result(diagnostic))
        .or_else(|| mixed_numbers(diagnostic))
        .or_else(|| missing_package(diagnostic, cell))
        .or_else(|| table::hint(diagnostic, cell));
    if let Some(hint) = hint {
        diagnostic.hint = Some(hint.text);
        if hint.instead {
            diagnostic.notes.clear();
        }
    }
}

/// Adds the hint for a warning about a value that the cell does not use.
pub(crate) fn add_to_warning(diagnostic: &mut Diagnostic) {
    if diagnostic.message.contains("`Result`") {
        diagnostic.notes.clear();
        diagnostic.hint = Some(
            "an error would go unnoticed. Write `?` before the `;`: then the cell stops at the error and shows it."
                .to_owned(),
        );
    }
}

/// Rewords the error about a `return` at the top level of a cell, whose type rustc compares with that of the engine's
/// code.
fn reword(diagnostic: &mut Diagnostic) -> Option<Hint> {
    let is_return = diagnostic.message.starts_with("return type inferred to be")
        || diagnostic.code.as_deref() == Some("E0069");
    if !is_return {
        return None;
    }
    "`return` outside of a function".clone_into(&mut diagnostic.message);
    for label in &mut diagnostic.labels {
        label.text.clear();
    }
    let text =
        "a cell shows the value of its last line if that does not end with `;`. Remove `return`.";
    Some(instead(text.to_owned()))
}

/// Explains names that an earlier cell defined, and unknown names.
fn missing_name(diagnostic: &Diagnostic, cell: &str, names: &Names) -> Option<Hint> {
    let code = diagnostic.code.as_deref()?;
    if !["E0405", "E0412", "E0422", "E0425", "E0433"].contains(&code) {
        return None;
    }
    let name = marked(diagnostic.primary()?, cell);
    if let Some(why) = names.why_missing(name) {
        let is_let = |note: &Note| note.edits.iter().any(|edit| edit.text.starts_with("let "));
        return Some(match diagnostic.notes.iter().any(is_let) {
            true => besides("a new variable begins with `let`.".to_owned()),
            false => instead(why),
        });
    }
    if code == "E0425" && names.is_variable(name) {
        return Some(instead(format!(
            "a function does not see the variables of cells. Pass `{name}` as an argument, or make it a `const`."
        )));
    }
    if let Some(hint) = python::name(diagnostic, cell) {
        return Some(hint);
    }
    let is_unknown = code != "E0433" && diagnostic.notes.is_empty();
    is_unknown.then(|| {
        besides(format!(
            "is the name spelled correctly? If another cell defines `{name}`, run that cell first."
        ))
    })
}

/// Explains a name of Python's that is something else in Rust: `print(x)`, `str(3)`, `max(1, 2)`.
fn misused_name(diagnostic: &Diagnostic, cell: &str) -> Option<Hint> {
    match diagnostic.code.as_deref() {
        Some("E0423") => python::name(diagnostic, cell),
        _ => python::function(diagnostic, cell),
    }
}

/// Explains assignments to a variable of an earlier cell, where rustc would change the engine's code.
fn not_mutable(diagnostic: &Diagnostic) -> Option<Hint> {
    let mut notes = diagnostic.notes.iter();
    notes.find(|note| note.is_outside_cell && note.message.ends_with("to be mutable"))?;
    let name = quoted(&diagnostic.message);
    Some(instead(format!(
        "an earlier cell made `{name}` without `mut`, so it cannot change. \
         Write `let mut {name} = …` there, or begin this cell with `let mut {name} = {name};`."
    )))
}

/// Explains a type of the user that has the same name as a type of taper.
fn hidden_type(diagnostic: &Diagnostic) -> Option<Hint> {
    if !diagnostic.has_two_types_of_one_name() {
        return None;
    }
    let words = diagnostic
        .notes
        .iter()
        .flat_map(|note| note.message.split('`'));
    let ours = words.into_iter().find(|word| word.starts_with("taper::"))?;
    let name = ours.rsplit("::").next()?;
    Some(instead(format!(
        "a cell has defined a type `{name}`, which hides taper's. Give yours another name; \
         `use {ours};` restores taper's."
    )))
}

/// Explains a `Result<Tensor>` where a tensor is expected.
fn unhandled_result(diagnostic: &Diagnostic) -> Option<Hint> {
    let primary = diagnostic.primary().map_or("", |label| &label.text);
    // Where two types have this name, rustc writes the whole path.
    let said = [diagnostic.message.as_str(), primary].map(|text| text.replace("std::result::", ""));
    let says = |text: &str| said.iter().any(|said| said.contains(text));
    let is_wanted = [
        "expected `Result<",
        "returns `Result<",
        "compatible with `Result<",
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
    Some(besides(
        "a `Result` holds a value or an error. To get the value, write `?` after the call that \
         returns it."
            .to_owned(),
    ))
}

/// Explains mixed number types: `2 * 1.5`, `x * 2`.
fn mixed_numbers(diagnostic: &Diagnostic) -> Option<Hint> {
    let message = &diagnostic.message;
    let verbs = ["add", "subtract", "multiply", "divide"];
    if !verbs
        .iter()
        .any(|verb| message.starts_with(&format!("cannot {verb} `")))
    {
        return None;
    }
    let types = message.split('`').skip(1).step_by(2);
    let types: Vec<&str> = types.map(|t| t.trim_start_matches('&')).collect();
    let text = if matches!(types[..], [number, "Tensor"] if is_number(number)) {
        "write the tensor first: `&x * n`. On the left of a tensor, a number is an `f64` or an `i64`: `n as f64`."
    } else if types.contains(&"Tensor") && types.iter().any(|t| is_number(t)) {
        "a tensor calculates with `f64`, `f32`, `i64`, `i32`, `u32`, `u8` and `usize`: convert with `n as f64`."
    } else if diagnostic.notes.is_empty() && types.iter().all(|t| is_number(t)) {
        "Rust does not mix number types. Write the integer with a decimal point (`2.0`), \
         or convert one side: `n as f64`."
    } else {
        return None;
    };
    Some(besides(text.to_owned()))
}

/// Returns whether this is a number type: `f32`, `usize`, `{integer}`, …
fn is_number(name: &str) -> bool {
    let is_sized =
        name.starts_with(['f', 'i', 'u']) && name.ends_with(|c: char| c.is_ascii_digit());
    is_sized || matches!(name, "{integer}" | "{float}" | "usize" | "isize")
}

/// Explains `use torch::…` for a package that is not loaded.
fn missing_package(diagnostic: &Diagnostic, cell: &str) -> Option<Hint> {
    let label = diagnostic.primary()?;
    let says = |text: &str| label.text.contains(text) || diagnostic.message.contains(text);
    let is_declared = diagnostic.code.as_deref() == Some("E0463");
    if !says("is not a crate or module") && !says("unlinked crate") && !is_declared {
        return None;
    }
    let is_import = |note: &Note| note.edits.iter().any(|edit| edit.text.starts_with("use "));
    if diagnostic.notes.iter().any(is_import) {
        // A module of Rust's library: the compiler says how to import it.
        return None;
    }
    let name = match is_declared {
        true => quoted(&diagnostic.message),
        false => marked(label, cell),
    };
    Some(instead(format!(
        "no package `{name}` is loaded. The line `:dep {name} = \"*\"` at the top of the cell \
         downloads it from crates.io, if it has a package of this name."
    )))
}
