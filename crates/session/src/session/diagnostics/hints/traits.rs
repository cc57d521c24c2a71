//! Traits that a type does not implement: printing, comparing, closures, threads.

use super::hint::{Hint, besides, is_number, one, operand, quoted, quotes};
use crate::session::diagnostics::context::Context;
use crate::session::diagnostics::diagnostic::Diagnostic;
use crate::session::tokens::{is_name, is_plain};
use ra_ap_syntax::ast;

pub(super) fn hint(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    printed_for_programmers(diagnostic, context)
        .or_else(|| printed_for_users(diagnostic, context))
        .or_else(|| compared(diagnostic, context))
        .or_else(|| implemented_twice(diagnostic, context))
        .or_else(|| called(diagnostic))
        .or_else(|| shared_by_threads(diagnostic))
        .or_else(|| tensors(diagnostic, context))
}

/// Returns the user's own type that a type is, or contains.
fn own_type<'a>(kind: &'a str, context: &Context) -> Option<&'a str> {
    let mut names = kind.split(|c: char| c != '_' && !c.is_alphanumeric());
    names.find(|name| is_name(name) && context.defines_item(name))
}

/// Explains a value that cannot be shown, or printed with `{:?}`.
fn printed_for_programmers(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let kind = diagnostic
        .message
        .strip_suffix("` doesn't implement `Debug`")?;
    let kind = kind.trim_start_matches('`');
    let is_printed = context.around::<ast::MacroCall>(diagnostic).is_some();
    let way_out = if is_printed {
        ""
    } else {
        " Or end the line with `;`, to show nothing."
    };
    let text = if let Some(own) = own_type(kind, context) {
        format!(
            "Rust has to know how to print {}. Write `#[derive(Debug)]` above its definition.{way_out}",
            one(own)
        )
    } else if kind.starts_with("{closure") || kind.starts_with("fn") {
        format!("a function cannot be printed. Call it, and show its result.{way_out}")
    } else if diagnostic.notes.iter().any(|note| !note.edits.is_empty()) {
        // Such as a bound of a type parameter.
        return None;
    } else {
        format!("the type `{kind}` cannot be printed.{way_out}")
    };
    Some(besides(text))
}

/// Explains a value that cannot be printed with `{}`.
fn printed_for_users(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let message = diagnostic.message.replace("std::fmt::", "");
    let kind = message.strip_suffix("` doesn't implement `Display`")?;
    let kind = kind.trim_start_matches('`');
    let marked = context.primary(diagnostic);
    let own = own_type(kind, context);
    let derive = match own {
        Some(own) if !context.derives(own, "Debug") => {
            format!(", with `#[derive(Debug)]` above the definition of `{own}`")
        }
        _ => String::new(),
    };
    if context.around::<ast::MacroCall>(diagnostic).is_none() {
        let call = context.marked_method(diagnostic);
        return (call == "to_string").then(|| {
            besides(format!(
                "write it with `{{:?}}`: `format!(\"{{x:?}}\")`{derive}."
            ))
        });
    }
    let name = if is_plain(marked) { marked } else { "x" };
    Some(besides(format!(
        "print it with `{{:?}}`: `println!(\"{{{name}:?}}\")`{derive}."
    )))
}

/// Explains `==` and `<` between values of a type that does not have them.
fn compared(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let message = &diagnostic.message;
    let is_operator = diagnostic.code.as_deref() == Some("E0369");
    let (operator, kind) = if is_operator && message.starts_with("binary operation `") {
        let mut quotes = quotes(message);
        (quotes.next()?, quotes.next()?)
    } else if message.starts_with("can't compare `") {
        ("==", quoted(message))
    } else {
        return None;
    };
    let own = own_type(kind.trim_start_matches('&'), context)?;
    let derive = match operator {
        "==" | "!=" => "PartialEq",
        "<" | "<=" | ">" | ">=" => "PartialEq, PartialOrd",
        _ => return None,
    };
    Some(besides(format!(
        "write `#[derive({derive})]` above the definition of `{own}`."
    )))
}

/// Explains a trait that is implemented twice.
fn implemented_twice(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    if diagnostic.code.as_deref() != Some("E0119") {
        return None;
    }
    let mut quotes = quotes(&diagnostic.message);
    let (of, kind) = (quotes.next()?, quotes.next()?);
    if of == "Debug" && context.derives(kind, "Parameters") {
        return Some(besides(
            "another derive implements `Debug` already, as `Parameters` does: leave `Debug` out.",
        ));
    }
    context.derives(kind, of).then(|| {
        besides(format!(
            "`#[derive({of})]` above the definition of `{kind}` implements it already: remove one of both."
        ))
    })
}

/// Explains a value where a function or a closure is called.
fn called(diagnostic: &Diagnostic) -> Option<Hint> {
    let message = diagnostic.message.strip_prefix("expected a `")?;
    let (kind, found) = message.split_once("` closure, found `")?;
    let arguments = kind
        .split_once('(')
        .map_or("", |(_, rest)| rest.trim_end_matches(')'));
    let bars = if arguments.is_empty() { "||" } else { "|x|" };
    let found = found.trim_end_matches('`');
    Some(besides(format!(
        "a function or a closure is expected, and this is {}. A closure has its arguments between bars: `{bars} …`.",
        one(found)
    )))
}

/// Explains values that threads cannot share.
fn shared_by_threads(diagnostic: &Diagnostic) -> Option<Hint> {
    let is_about_threads = diagnostic.message.contains("between threads safely");
    let kind = quoted(&diagnostic.message);
    if !is_about_threads {
        return None;
    }
    let text = if kind.starts_with("Rc<RefCell<") {
        "threads share a value that changes in an `Arc<Mutex<…>>`, in place of `Rc<RefCell<…>>`."
    } else if kind.starts_with("Rc<") {
        "an `Rc` cannot be shared between threads. Use an `Arc`."
    } else if kind.starts_with("RefCell<") || kind.starts_with("Cell<") {
        "threads share a value that changes in a `Mutex`, in place of a `RefCell` or a `Cell`."
    } else {
        return None;
    };
    Some(besides(text))
}

/// Explains operators and arguments of tensors.
fn tensors(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let message = &diagnostic.message;
    if context.defines_item("Tensor") {
        return None;
    }
    let operator = message
        .strip_prefix("binary operation `")
        .filter(|rest| rest.ends_with("cannot be applied to type `Tensor`"))
        .and_then(|rest| rest.split('`').next());
    let operator = match message.starts_with("can't compare `Tensor` with") {
        true => Some(context.primary(diagnostic)),
        false => operator,
    };
    if let Some(operator) = operator {
        let method = match operator {
            "==" => "eq",
            "!=" => "ne",
            "<" => "lt",
            "<=" => "le",
            ">" => "gt",
            ">=" => "ge",
            _ => return None,
        };
        let sides = context.around::<ast::BinExpr>(diagnostic);
        let sides = sides.and_then(|it| Some((it.lhs()?.to_string(), it.rhs()?.to_string())));
        let (left, right) = sides.unwrap_or_else(|| ("a".to_owned(), "0.5".to_owned()));
        let mut labels = diagnostic.labels.iter();
        let is_tensor = labels.any(|it| it.text == "Tensor" && context.marked(it) == right);
        let reference = if is_tensor { "&" } else { "" };
        return Some(besides(format!(
            "tensors are compared element by element: `{}.{method}({reference}{right})` is 1 where this is true, and 0 elsewhere.",
            operand(&left)
        )));
    }
    let (bound, kind) = message
        .strip_prefix("the trait bound `")?
        .split_once(": ")?;
    let kind = kind.split('`').next()?;
    if kind.starts_with("Into<") && kind.ends_with("::Shape>") {
        return Some(besides(shape(bound)));
    }
    if let Some(size) = kind
        .strip_prefix("From<")
        .filter(|_| bound.ends_with("::Shape"))
    {
        return Some(besides(shape(size.trim_end_matches('>'))));
    }
    if kind != "NdArray" {
        return None;
    }
    Some(besides(if bound.starts_with('[') {
        format!(
            "an array is borrowed with `&`: `tensor(&{})`.",
            context.primary(diagnostic)
        )
    } else if bound.contains("str") || bound.contains("String") {
        "a tensor holds values of a number type, not text. A string becomes a number with `s.parse::<f32>()?`.".to_owned()
    } else {
        "a tensor is made of a value, a `Vec`, or an array that is borrowed: `tensor(&[1.0, 2.0])`."
            .to_owned()
    }))
}

/// Explains what cannot be a shape.
fn shape(kind: &str) -> String {
    let mut sizes = kind.split(|c: char| c != '{' && c != '}' && !c.is_alphanumeric());
    match sizes.find(|size| is_number(size) && !matches!(*size, "usize" | "{integer}")) {
        Some(size) => {
            format!("the sizes of a shape are of type `usize`, not `{size}`: `n as usize`.")
        }
        None => "a shape is a tuple: `zeros((2, 3))`.".to_owned(),
    }
}
