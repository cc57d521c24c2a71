//! What to do about a compile error, in a teacher's words, where the compiler's own do not help: it
//! knows nothing of cells, of taper, or of what one would have written in Python.

use super::diagnostic::{Diagnostic, Label};
use crate::session::names::Names;
use crate::session::source_map::byte_offset;
use crate::session::tokens::{is_name, texts, with_offsets};

/// Our words, and whether the compiler's notes would only distract from them.
struct Hint {
    text: String,
    instead: bool,
}

/// Finds the hint for a diagnostic, and rewords what evcxr says itself.
pub(crate) fn add(diagnostic: &mut Diagnostic, cell: &str, names: &Names) {
    if diagnostic.hint.is_some() {
        return;
    }
    let hint = reword(diagnostic)
        .or_else(|| a_name_that_is_gone(diagnostic, cell, names))
        .or_else(|| not_mutable(diagnostic))
        .or_else(|| two_types(diagnostic))
        .or_else(|| an_unopened_result(diagnostic))
        .or_else(|| kinds_of_numbers(diagnostic))
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

/// What the function gives that evcxr puts around a cell.
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

/// evcxr's own messages, and those that speak of its code.
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
        let text = "a cell shows the value of its last line if no `;` stands behind it. Leave `return` away.";
        return Some(instead(text.to_owned()));
    }
    None
}

/// At the top of a cell, where rustc holds it against what evcxr's function gives.
fn is_return(diagnostic: &Diagnostic) -> bool {
    let label = diagnostic.primary().map_or("", |label| &label.text);
    diagnostic.message.starts_with("return type inferred to be")
        || diagnostic.code.as_deref() == Some("E0069")
        || label.starts_with(&format!("expected `{CELL_RESULT}`"))
}

/// Names that an earlier cell had, and names of which nothing is known.
fn a_name_that_is_gone(diagnostic: &Diagnostic, cell: &str, names: &Names) -> Option<Hint> {
    let code = diagnostic.code.as_deref()?;
    if !["E0405", "E0412", "E0422", "E0425", "E0433"].contains(&code) {
        return None;
    }
    let name = marked(diagnostic.primary()?, cell);
    if let Some(why) = names.why_gone(name) {
        return Some(instead(why));
    }
    let is_unknown = code != "E0433" && diagnostic.notes.is_empty();
    is_unknown.then(|| {
        besides(format!(
            "is the name spelled right? If another cell makes `{name}`, run that cell first."
        ))
    })
}

/// rustc would change evcxr's code, which takes the variable from the cell before.
fn not_mutable(diagnostic: &Diagnostic) -> Option<Hint> {
    let mut notes = diagnostic.notes.iter();
    notes.find(|note| note.is_outside_cell && note.message.ends_with("to be mutable"))?;
    let name = quoted(&diagnostic.message);
    Some(instead(format!(
        "an earlier cell made `{name}` without `mut`, so it cannot change. \
         Write `let mut {name} = …` there, or begin this cell with `let mut {name} = {name};`."
    )))
}

/// A student's type with the name of one of ours.
fn two_types(diagnostic: &Diagnostic) -> Option<Hint> {
    if !diagnostic.is_about_two_types() {
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

/// `Result<Tensor>` where the tensor is wanted.
fn an_unopened_result(diagnostic: &Diagnostic) -> Option<Hint> {
    let primary = diagnostic.primary().map_or("", |label| &label.text);
    // Where two types are called so, rustc gives the whole path.
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
        "a `Result` is a value or an error, and has to be opened first: \
         write `?` behind the call that makes it."
            .to_owned(),
    ))
}

/// `2 * 1.5`, `x * 2`.
fn kinds_of_numbers(diagnostic: &Diagnostic) -> Option<Hint> {
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
        "a tensor calculates with decimal numbers: write `2.0`, or convert with `n as f64`."
    } else if diagnostic.notes.is_empty() && types.iter().all(|t| is_number(t)) {
        "Rust does not mix kinds of numbers. Write whole numbers with a point (`2.0`), \
         or convert one side: `n as f64`."
    } else {
        return None;
    };
    Some(besides(text.to_owned()))
}

/// `f32`, `usize`, `{integer}`, …
fn is_number(name: &str) -> bool {
    let is_sized =
        name.starts_with(['f', 'i', 'u']) && name.ends_with(|c: char| c.is_ascii_digit());
    is_sized || matches!(name, "{integer}" | "{float}" | "usize" | "isize")
}

/// Words with which a line begins in Python, and what Rust has for them.
#[rustfmt::skip]
const PYTHON_LINES: [(&str, &str); 7] = [
    ("def", "a function begins with `fn`: `fn f(x: f64) -> f64 { x + 1.0 }`."),
    ("import", "Rust's word is `use`: `use std::collections::HashMap;`. What taper has is there already."),
    ("from", "Rust's word is `use`: `use std::collections::HashMap;`. What taper has is there already."),
    ("class", "a `struct` holds the fields, and an `impl` the methods."),
    ("if", "a block stands between `{` and `}`, without `:`."),
    ("for", "a block stands between `{` and `}`, without `:`; and `0..10` are the numbers from 0 to 9."),
    ("while", "a block stands between `{` and `}`, without `:`."),
];

/// Functions of Python that rustc would exchange for another, and what Rust has for them.
const PYTHON_FUNCTIONS: [(&str, &str); 5] = [
    ("range", "`0..10` are the numbers from 0 to 9."),
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

/// Functions of torch and numpy that are methods of a tensor here.
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

/// `use torch::…` for a package that nobody has loaded.
fn missing_package(diagnostic: &Diagnostic, cell: &str) -> Option<Hint> {
    let label = diagnostic.primary()?;
    let says = |text: &str| label.text.contains(text) || diagnostic.message.contains(text);
    if !says("is not a crate or module") && !says("unlinked crate") {
        return None;
    }
    let name = marked(label, cell);
    Some(instead(format!(
        "no package `{name}` is loaded. The line `:dep {name} = \"*\"` at the top of the cell loads it \
         from the internet, if Rust's register has one of this name."
    )))
}

/// An error's code, a part of what it says, and the hint; `{}` is the marked part of the cell.
#[rustfmt::skip]
const TABLE: [(&str, &str, &str); 20] = [
    ("E0277", "`{integer}: Borrow<Tensor>`", "a tensor calculates with decimal numbers: write `2.0`, or convert with `n as f64`."),
    ("E0277", "doesn't implement `Debug`", "to print a value, Rust must know how. Write `#[derive(Debug)]` above the definition of its type; or put `;` behind the line, to show nothing."),
    ("E0277", "`?` operator can only be used on `Result`s, not `Option`s", "this is an `Option`: a value, or nothing. Write `.ok_or(\"what is missing\")?`, or `.unwrap()`."),
    ("E0277", "`?` operator can only be used in", "`?` hands an error to the caller, so the function has to give a `Result`: `-> Result<…>`, and in the end `Ok(…)`."),
    ("E0277", "the type `[", "an index is a `usize`. Convert it: `[{} as usize]`."),
    ("E0277", "`!:", "Rust cannot tell which type is meant. Write it: `let x: f64 = …`."),
    ("E0277", "`Tensor` is not an iterator", "go through its rows by their numbers: `for i in 0..t.dim(0)? { let row = t.get(i)?; … }`."),
    ("E0282", "", "Rust cannot tell which type is meant. Write it: `let x: Vec<f64> = …`."),
    ("E0283", "", "Rust cannot tell which type is meant. Write it: `let x: f64 = …`."),
    ("E0284", "", "Rust cannot tell which type is meant. Write it: `let x: Vec<f64> = …`."),
    ("E0308", "found `()`", "the block gives nothing. Is there a `;` behind its last line that should not be there?"),
    ("E0599", "for unit type `()`", "`()` is nothing. What made this value has a `;` behind its last line that should not be there."),
    ("E0608", "of type `Tensor`", "a tensor is indexed with `.i(…)`: `t.i(0)?` is its first row, `t.i((0, 1))?` one number."),
    ("E0614", "cannot be dereferenced", "Rust has no `**`. A power is `x.powi(2)` of a float, `n.pow(2)` of a whole number, `t.sqr()?` of a tensor."),
    ("E0618", "expected function", "`{}` is a variable in this notebook, and hides the function of that name. Give the variable another name and restart the kernel."),
    ("E0369", "`==` cannot be applied to type `Tensor`", "tensors are compared number by number: `a.eq(&b)?` has 1 where they are equal, else 0."),
    ("E0267", "", "a cell is no loop: `break` and `continue` belong into `loop`, `while` or `for`."),
    ("E0658", "the `!` type", "a variable of this cell can never have a value, so it cannot be kept. Put `{ … }` around the lines that use it."),
    ("", "Unrecognised command", "a line that begins with `:` is a command of the kernel. `:help` lists them all."),
    ("", "found `@`", "a product of matrices is a method: `a.matmul(&b)?`."),
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

/// What evcxr says about a variable whose type it cannot write down, as a diagnostic of the cell.
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
            format!("write it behind the name: `let {name}: Vec<f64> = …`."),
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

/// The last place where `let` makes the variable.
fn definition(name: &str, cell: &str) -> Option<Label> {
    let tokens = with_offsets(cell);
    let begins = |at: usize| matches!(tokens[at].2, "let" | "mut" | "(" | ",");
    let made = (1..tokens.len()).rfind(|&at| tokens[at].2 == name && begins(at - 1))?;
    Some(Label::at(tokens[made].0, name, "", cell))
}

/// The part of the cell that a label marks.
fn marked<'a>(label: &Label, cell: &'a str) -> &'a str {
    let range = byte_offset(cell, label.start)..byte_offset(cell, label.end);
    cell.get(range).unwrap_or_default()
}

/// The first text between backticks.
fn quoted(message: &str) -> &str {
    message.split('`').nth(1).unwrap_or_default()
}
