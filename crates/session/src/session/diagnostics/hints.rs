//! Says what to do about a compile error where the compiler's own help is not enough: it knows nothing
//! of cells, of taper, or of Python.

use super::diagnostic::{Diagnostic, Label};
use crate::session::names::Names;
use crate::session::source_map::byte_offset;
use crate::session::tokens::{is_name, texts, with_offsets};

/// A hint, and whether it replaces the compiler's notes.
struct Hint {
    text: String,
    instead: bool,
}

/// Adds the hint for a diagnostic, and rewords evcxr's own messages.
pub(crate) fn add(diagnostic: &mut Diagnostic, cell: &str, names: &Names) {
    if diagnostic.hint.is_some() {
        return;
    }
    let hint = reword(diagnostic)
        .or_else(|| missing_name(diagnostic, cell, names))
        .or_else(|| not_mutable(diagnostic))
        .or_else(|| hidden_type(diagnostic))
        .or_else(|| unhandled_result(diagnostic))
        .or_else(|| mixed_numbers(diagnostic))
        .or_else(|| from_python(diagnostic, cell))
        .or_else(|| missing_package(diagnostic, cell))
        .or_else(|| from_the_table(diagnostic, cell));
    if let Some(hint) = hint {
        diagnostic.hint = Some(hint.text);
        if hint.instead {
            diagnostic.notes.clear();
        }
    }
    for label in &mut diagnostic.labels {
        label.text = label.text.replace(CELL_RESULT, "Result<(), Error>");
    }
}

/// The return type of the function that evcxr puts around a cell.
const CELL_RESULT: &str = "Result<(), EvcxrUserCodeError>";

fn instead(text: String) -> Hint {
    Hint {
        text,
        instead: true,
    }
}

fn besides(text: String) -> Hint {
    Hint {
        text,
        instead: false,
    }
}

/// Rewords evcxr's own messages, and those about its code.
fn reword(diagnostic: &mut Diagnostic) -> Option<Hint> {
    let message = &diagnostic.message;
    if message.contains("contains a reference with a non-static lifetime") {
        let name = quoted(message).to_owned();
        diagnostic.message = format!("`{name}` borrows from another value and cannot be kept");
        return Some(instead(format!(
            "variables live on between cells, but what is borrowed cannot. Keep a value of its own: \
             `.clone()` or `.to_owned()` for data, `.collect::<Vec<_>>()` for an iterator. \
             Or write all lines that use `{name}` in one cell, between `{{` and `}}`."
        )));
    }
    if is_return(diagnostic) {
        "`return` outside of a function".clone_into(&mut diagnostic.message);
        for label in &mut diagnostic.labels {
            label.text.clear();
        }
        let text = "a cell shows the value of its last line if that does not end with `;`. Remove `return`.";
        return Some(instead(text.to_owned()));
    }
    None
}

/// Returns whether the error is about a `return` at the top level of a cell, whose type rustc compares
/// with the return type of evcxr's function.
fn is_return(diagnostic: &Diagnostic) -> bool {
    let label = diagnostic.primary().map_or("", |label| &label.text);
    diagnostic.message.starts_with("return type inferred to be")
        || diagnostic.code.as_deref() == Some("E0069")
        || label.starts_with(&format!("expected `{CELL_RESULT}`"))
}

/// Explains names that an earlier cell defined, and unknown names.
fn missing_name(diagnostic: &Diagnostic, cell: &str, names: &Names) -> Option<Hint> {
    let code = diagnostic.code.as_deref()?;
    if !["E0405", "E0412", "E0422", "E0425", "E0433"].contains(&code) {
        return None;
    }
    let name = marked(diagnostic.primary()?, cell);
    if let Some(why) = names.why_missing(name) {
        return Some(instead(why));
    }
    let is_unknown = code != "E0433" && diagnostic.notes.is_empty();
    is_unknown.then(|| {
        besides(format!(
            "is the name spelled correctly? If another cell defines `{name}`, run that cell first."
        ))
    })
}

/// Explains assignments to a variable of an earlier cell, where rustc would change evcxr's code.
fn not_mutable(diagnostic: &Diagnostic) -> Option<Hint> {
    let mut notes = diagnostic.notes.iter();
    notes.find(|note| note.is_outside_cell && note.message.ends_with("to be mutable"))?;
    let name = quoted(&diagnostic.message);
    Some(instead(format!(
        "an earlier cell made `{name}` without `mut`, so it cannot change. \
         Write `let mut {name} = …` there, or begin this cell with `let mut {name} = {name};`."
    )))
}

/// Explains a type of the user that has the name of one of taper's.
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
         `use {ours};` brings taper's back."
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
    let text = if types.contains(&"Tensor") && types.iter().any(|t| is_number(t)) {
        "a tensor calculates with floating-point numbers: write `2.0`, or convert with `n as f64`."
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

/// Words at the start of a line of Python, and what Rust has instead.
#[rustfmt::skip]
const PYTHON_LINES: [(&str, &str); 7] = [
    ("def", "a function begins with `fn`: `fn f(x: f64) -> f64 { x + 1.0 }`."),
    ("import", "Rust's keyword is `use`: `use std::collections::HashMap;`. The items of taper are imported already."),
    ("from", "Rust's keyword is `use`: `use std::collections::HashMap;`. The items of taper are imported already."),
    ("class", "a `struct` holds the fields, and an `impl` the methods."),
    ("if", "a block is written between `{` and `}`, without `:`."),
    ("for", "a block is written between `{` and `}`, without `:`; and `0..10` are the integers from 0 to 9."),
    ("while", "a block is written between `{` and `}`, without `:`."),
];

/// Functions of Python for which rustc suggests a function of a similar name, and what Rust has instead.
const PYTHON_FUNCTIONS: [(&str, &str); 5] = [
    ("range", "`0..10` are the integers from 0 to 9."),
    ("len", "the length is a method: `v.len()`."),
    (
        "float",
        "write `x as f64`, or for a text `s.parse::<f64>()?`.",
    ),
    (
        "int",
        "write `x as i64`, or for a text `s.parse::<i64>()?`.",
    ),
    ("str", "write `x.to_string()`."),
];

/// Functions of torch and numpy that are methods of a tensor in Rust.
const METHODS: [&str; 9] = [
    "abs",
    "cos",
    "exp",
    "log",
    "relu",
    "sin",
    "sqrt",
    "tanh",
    "transpose",
];

/// Explains Python's syntax and functions.
fn from_python(diagnostic: &Diagnostic, cell: &str) -> Option<Hint> {
    let primary = diagnostic.primary()?;
    if diagnostic.message.starts_with("cannot find function") {
        let name = marked(primary, cell);
        if METHODS.contains(&name) {
            let text = format!("a tensor has it as a method: `x.{name}(…)?`.");
            return Some(instead(text));
        }
        let (_, text) = PYTHON_FUNCTIONS.iter().find(|(word, _)| *word == name)?;
        return Some(instead((*text).to_owned()));
    }
    let line = cell.lines().nth(primary.start.0 - 1)?;
    let first = texts(line).first().copied()?;
    let is_block = line.contains(": ") || line.trim_end().ends_with(':');
    if !diagnostic.is_syntax_error() || (["if", "for", "while"].contains(&first) && !is_block) {
        return None;
    }
    let (_, text) = PYTHON_LINES.iter().find(|(word, _)| *word == first)?;
    Some(instead((*text).to_owned()))
}

/// Explains `use torch::…` for a package that is not loaded.
fn missing_package(diagnostic: &Diagnostic, cell: &str) -> Option<Hint> {
    let label = diagnostic.primary()?;
    let says = |text: &str| label.text.contains(text) || diagnostic.message.contains(text);
    if !says("is not a crate or module") && !says("unlinked crate") {
        return None;
    }
    let name = marked(label, cell);
    Some(instead(format!(
        "no package `{name}` is loaded. The line `:dep {name} = \"*\"` at the top of the cell \
         downloads it from crates.io, if it has a package of this name."
    )))
}

/// An error's code, a part of its message, and the hint, in which `{}` is the marked part of the cell.
#[rustfmt::skip]
const TABLE: [(&str, &str, &str); 20] = [
    ("E0277", "`{integer}: Borrow<Tensor>`", "a tensor calculates with floating-point numbers: write `2.0`, or convert with `n as f64`."),
    ("E0277", "doesn't implement `Debug`", "Rust has to know how to print a value. Write `#[derive(Debug)]` above the definition of its type; or end the line with `;`, to show nothing."),
    ("E0277", "`?` operator can only be used on `Result`s, not `Option`s", "this is an `Option`: a value, or nothing. Write `.ok_or(\"what is missing\")?`, or `.unwrap()`."),
    ("E0277", "`?` operator can only be used in", "`?` returns an error to the caller, so the function has to return a `Result`: `-> Result<…>`, and `Ok(…)` at its end."),
    ("E0277", "the type `[", "an index is a `usize`. Convert it: `[{} as usize]`."),
    ("E0277", "`!:", "Rust cannot tell which type is meant. Write it: `let x: f64 = …`."),
    ("E0277", "`Tensor` is not an iterator", "iterate over the indices of its rows: `for i in 0..t.dim(0)? { let row = t.get(i)?; … }`."),
    ("E0282", "", "Rust cannot tell which type is meant. Write it: `let x: Vec<f64> = …`."),
    ("E0283", "", "Rust cannot tell which type is meant. Write it: `let x: f64 = …`."),
    ("E0284", "", "Rust cannot tell which type is meant. Write it: `let x: Vec<f64> = …`."),
    ("E0308", "found `()`", "the block has no value. Is there a `;` after its last line that should not be there?"),
    ("E0599", "for unit type `()`", "the value is `()`, because the code that should produce it has a `;` after its last line. Remove the `;`."),
    ("E0608", "of type `Tensor`", "a tensor is indexed with `.i(…)`: `t.i(0)?` is its first row, `t.i((0, 1))?` one number."),
    ("E0614", "cannot be dereferenced", "Rust has no `**`. A power is `x.powi(2)` of a float, `n.pow(2)` of an integer, `t.sqr()?` of a tensor."),
    ("E0618", "expected function", "`{}` is a variable in this notebook, and hides the function of that name. Give the variable another name and restart the kernel."),
    ("E0369", "`==` cannot be applied to type `Tensor`", "tensors are compared element by element: `a.eq(&b)?` is 1 where they are equal, and 0 elsewhere."),
    ("E0267", "", "`break` and `continue` are only allowed inside `loop`, `while` or `for`."),
    ("E0658", "the `!` type", "a variable of this cell never gets a value, so it cannot be kept. Put `{ … }` around the lines that use it."),
    ("", "Unrecognised command", "a line that begins with `:` is a command of the kernel. `:help` lists them all."),
    ("", "found `@`", "matrix multiplication is a method: `a.matmul(&b)?`."),
];

fn from_the_table(diagnostic: &Diagnostic, cell: &str) -> Option<Hint> {
    let code = diagnostic.code.as_deref().unwrap_or_default();
    let says = |text: &str| {
        let mut labels = diagnostic.labels.iter();
        diagnostic.message.contains(text) || labels.any(|label| label.text.contains(text))
    };
    let (_, _, text) = TABLE.iter().find(|row| row.0 == code && says(row.1))?;
    let marked = diagnostic.primary().map_or("", |label| marked(label, cell));
    if text.contains("{}") && !is_name(marked) {
        return None;
    }
    Some(besides(text.replace("{}", marked)))
}

/// Turns evcxr's message about a variable whose type has no name into a diagnostic of the cell.
pub(crate) fn about_a_type(message: &str, cell: &str) -> Option<Diagnostic> {
    let name = quoted(message);
    let (what, hint) = if message.contains("is a closure") {
        (
            format!("the closure `{name}` cannot be kept"),
            format!(
                "what lives on between cells needs a type that can be written down, and a closure has none. \
                 Write a function, `fn {name}(…) -> … {{ … }}`; \
                 or, if it uses other variables, `let {name}: Box<dyn Fn(f64) -> f64> = Box::new(move |x| …);`."
            ),
        )
    } else if message.contains("cannot be persisted") {
        (
            format!("`{name}` has a type without a name and cannot be kept"),
            "what lives on between cells needs a type that can be written down. \
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
fn definition(name: &str, cell: &str) -> Option<Label> {
    let tokens = with_offsets(cell);
    let begins = |at: usize| matches!(tokens[at].2, "let" | "mut" | "(" | ",");
    let made = (1..tokens.len()).rfind(|&at| tokens[at].2 == name && begins(at - 1))?;
    Some(Label::at(tokens[made].0, name, "", cell))
}

/// Returns the part of the cell that a label marks.
fn marked<'a>(label: &Label, cell: &'a str) -> &'a str {
    let range = byte_offset(cell, label.start)..byte_offset(cell, label.end);
    cell.get(range).unwrap_or_default()
}

/// Returns the first text between backticks.
fn quoted(message: &str) -> &str {
    message.split('`').nth(1).unwrap_or_default()
}
