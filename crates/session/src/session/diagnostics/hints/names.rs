//! Names that are missing: variables, imports and packages.

use super::hint::{Hint, besides, instead, is_number, quoted, quotes};
use super::{python, tensor};
use crate::session::diagnostics::context::Context;
use crate::session::diagnostics::diagnostic::{Diagnostic, Note};
use crate::session::registry;
use crate::session::tokens::is_plain;
use ra_ap_syntax::ast;

/// The crates of Rust's library.
const LIBRARY: [&str; 3] = ["std", "core", "alloc"];

pub(super) fn hint(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    missing(diagnostic, context)
        .or_else(|| misused(diagnostic, context))
        .or_else(|| method_of_function(diagnostic))
        .or_else(|| hidden_function(diagnostic, context))
        .or_else(|| hidden_type(diagnostic))
        .or_else(|| defined_twice(diagnostic, context))
        .or_else(|| package(diagnostic, context))
        .or_else(|| import(diagnostic, context))
}

/// Explains names that an earlier cell would define, variables that cannot be seen, and unknown names.
fn missing(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let code = diagnostic.code.as_deref().unwrap_or_default();
    let is_macro = code.is_empty() && diagnostic.message.starts_with("cannot find ");
    if !is_macro && !["E0405", "E0412", "E0422", "E0425", "E0432", "E0433"].contains(&code) {
        return None;
    }
    let marked = context.primary(diagnostic);
    let name = match code {
        "E0432" => marked.split("::").next().unwrap_or_default(),
        // The place may be the call of a macro, which contains the name.
        _ => Some(quoted(&diagnostic.message))
            .filter(|it| is_plain(it))
            .unwrap_or(marked),
    };
    if let Some(why) = context.names.why_missing(name) {
        let is_let = |note: &Note| note.edits.iter().any(|edit| edit.text.starts_with("let "));
        return Some(match diagnostic.notes.iter().any(is_let) {
            true => besides("a new variable begins with `let`."),
            false => instead(why),
        });
    }
    if code == "E0432" {
        return None;
    }
    if code == "E0425" && context.is_variable(name) {
        return unseen(name, marked, diagnostic, context);
    }
    if suggests_own_name(diagnostic, context) && !python::is_module(name) {
        return None;
    }
    if let Some(hint) = python::name(diagnostic, context) {
        return Some(hint);
    }
    let is_path = diagnostic.message.contains("module or crate") || says_unlinked(diagnostic);
    if is_path || !diagnostic.notes.is_empty() {
        return None;
    }
    if let Some(import) = context.names.failed_globs().next() {
        return Some(besides(format!(
            "`{import}` failed in an earlier cell, and may be what defines this name. Correct that cell and run it first."
        )));
    }
    let is_asked = code != "E0433" && !is_macro;
    is_asked.then(|| {
        besides(format!(
            "is the name spelled correctly? If another cell defines `{name}`, run that cell first."
        ))
    })
}

/// Explains a variable that exists and that the code with the error does not see.
fn unseen(name: &str, marked: &str, diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    if context.redefines_type_of(name) {
        return Some(instead(format!(
            "this cell redefines the type of `{name}`, and so loses its value. Make `{name}` again in this cell, below the \
             definition of the type."
        )));
    }
    let is_in_macro = marked != name || context.around::<ast::MacroRules>(diagnostic).is_some();
    let what = if is_in_macro {
        "macro"
    } else if context.around::<ast::Fn>(diagnostic).is_some() {
        "function"
    } else if context.around::<ast::Const>(diagnostic).is_some() {
        return Some(instead(format!(
            "the value of a constant is known before any cell runs, and `{name}` is a variable. Make `{name}` a `const`, \
             too, or write `let` in place of `const`."
        )));
    } else if context.around::<ast::Item>(diagnostic).is_some() {
        return Some(instead(format!(
            "an item does not see the variables of cells. Make `{name}` a `const`."
        )));
    } else {
        return None;
    };
    Some(instead(format!(
        "a {what} does not see the variables of cells. Pass `{name}` as an argument, or make it a `const`."
    )))
}

/// Returns whether rustc suggests a variable or an item of the user in place of the name.
fn suggests_own_name(diagnostic: &Diagnostic, context: &Context) -> bool {
    let edits = diagnostic.notes.iter().flat_map(|note| &note.edits);
    let mut names = edits.map(|edit| edit.text.trim());
    names.any(|name| context.is_variable(name) || context.defines_item(name))
}

/// Explains a name of Python's that is something else in Rust: `print(x)`, `str(3)`.
fn misused(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let is_misused = diagnostic.code.as_deref() == Some("E0423");
    let mut names = quotes(&diagnostic.message);
    if !is_misused || names.any(|name| context.defines_item(name)) {
        return None;
    }
    python::name(diagnostic, context)
}

/// Explains a method that is called on a function: `random.random()`.
fn method_of_function(diagnostic: &Diagnostic) -> Option<Hint> {
    let (_, function) = diagnostic.message.split_once(" found for fn item `")?;
    let (_, name) = function.split_once('{')?;
    let name = name.split('}').next()?.rsplit("::").next()?;
    Some(besides(format!(
        "`{name}` is a function. Call it first: `{name}(…)`."
    )))
}

/// Explains the call of a variable whose value is not a function.
fn hidden_function(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let name = context.primary(diagnostic);
    if diagnostic.code.as_deref() != Some("E0618") || !context.is_variable(name) {
        return None;
    }
    let kind = quotes(&diagnostic.message).last().unwrap_or_default();
    let product = match is_number(kind) {
        true => " Values are multiplied with `*`.",
        false => "",
    };
    let path = match tensor::is_function(name) {
        true => format!("call taper's function by its path, `taper::prelude::{name}(…)`, or "),
        false => String::new(),
    };
    Some(besides(format!(
        "`{name}` is a variable here, of type `{kind}`. It hides a function of that name, if there is one: {path}give the \
         variable another name and run `:restart`.{product}"
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

/// Explains two items of one name.
fn defined_twice(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    if diagnostic.code.as_deref() != Some("E0428") {
        return None;
    }
    let name = quoted(&diagnostic.message);
    let labels = diagnostic.labels.iter();
    let places: Vec<&str> = labels.map(|label| context.marked(label)).collect();
    let is_called = places.iter().any(|place| place.contains('!'));
    Some(besides(match places.len() {
        0 | 1 => format!("an earlier cell defines `{name}`, too. Give this one another name."),
        _ if is_called || context.around::<ast::MacroRules>(diagnostic).is_some() => {
            format!("a macro of this cell makes two items with the name `{name}`.")
        }
        _ => format!("two items of this cell have the name `{name}`. Rename one of them."),
    }))
}

/// Explains `use torch::…` for a package that is not loaded.
fn package(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let is_declared = diagnostic.code.as_deref() == Some("E0463");
    if !says_unlinked(diagnostic) && !is_declared {
        return None;
    }
    let name = match is_declared {
        true => quoted(&diagnostic.message),
        false => context.primary(diagnostic),
    };
    if LIBRARY.contains(&name) {
        return Some(instead(format!(
            "`{name}` is a part of Rust's library, and has to be named first, with `extern crate {name};`. Most of it is also \
             in `std`."
        )));
    }
    let mut edits = diagnostic.notes.iter().flat_map(|note| &note.edits);
    let suggestion = edits.next().map(|edit| edit.text.trim());
    match suggestion {
        // A module of Rust's library: the compiler says how to name it.
        Some(path) if !path.starts_with(|c: char| c.is_alphabetic()) || is_of_library(path) => {
            let is_import = diagnostic.code.as_deref() == Some("E0432");
            let hint = || besides(format!("or, for the package: {}.", how_to_load(name)));
            return is_import.then(hint);
        }
        // The name of a loaded package is misspelled, or that of a type.
        Some(_) => return None,
        None => {}
    }
    Some(instead(format!(
        "no package `{name}` is loaded. {} at the top of the cell downloads it from crates.io, if it has a package of this name.",
        upper(&how_to_load(name))
    )))
}

fn is_of_library(path: &str) -> bool {
    let path = path.trim_start_matches("use ");
    LIBRARY
        .iter()
        .any(|library| path.split("::").next() == Some(library))
}

/// Returns the line that loads the package of a crate, in words. The name of a crate has `_` where that of its package may
/// have `-`, which the registry knows.
fn how_to_load(name: &str) -> String {
    let line = |name: &str| format!("`:dep {name} = \"*\"`");
    match registry::package_of(name) {
        Some(package) => format!("the line {}", line(&package)),
        None if name.contains('_') => format!(
            "the line {} or {}, by the name in the registry,",
            line(&name.replace('_', "-")),
            line(name)
        ),
        None => format!("the line {}", line(name)),
    }
}

fn upper(sentence: &str) -> String {
    sentence.replacen("the line", "The line", 1)
}

fn says_unlinked(diagnostic: &Diagnostic) -> bool {
    let label = diagnostic.primary().map_or("", |label| &label.text);
    let says = |text: &str| label.contains(text) || diagnostic.message.contains(text);
    says("is not a crate or module") || says("unlinked crate")
}

/// Explains an import of what is not there.
fn import(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let has_edits = diagnostic.notes.iter().any(|note| !note.edits.is_empty());
    if diagnostic.code.as_deref() != Some("E0432") || has_edits {
        return None;
    }
    // rustc names the feature of a package that would be needed.
    let gates = diagnostic.notes.iter().map(|note| &*note.message);
    let feature = gates
        .filter(|text| text.contains("gated behind the"))
        .find_map(|text| quotes(text).next());
    let path = context.around::<ast::Path>(diagnostic);
    let root = path.map(|path| path.segments().next().map(|it| it.to_string()));
    if let (Some(feature), Some(Some(root))) = (feature, root) {
        let package = registry::package_of(&root).unwrap_or(root);
        return Some(besides(format!(
            "the package has it with a feature: `:dep {package} = {{ version = \"*\", features = [\"{feature}\"] }}`."
        )));
    }
    Some(besides(
        "is the name spelled correctly? Press Tab after `::` for the names that exist.",
    ))
}
