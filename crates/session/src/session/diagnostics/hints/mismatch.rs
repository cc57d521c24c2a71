//! A value of another type than expected: `E0308`.

use super::hint::{Hint, besides, is_float, is_number, is_text, operand};
use crate::session::diagnostics::context::Context;
use crate::session::diagnostics::diagnostic::{Diagnostic, Label};
use ra_ap_syntax::ast::{self, AstNode};

pub(super) fn hint(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    unit_receiver(diagnostic, context).or_else(|| mismatch(diagnostic, context))
}

fn mismatch(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    if diagnostic.code.as_deref() != Some("E0308") {
        return None;
    }
    if diagnostic
        .primary()?
        .text
        .contains("types differ in mutability")
    {
        return mutability(diagnostic, context);
    }
    // Where several arguments are wrong, each has a label.
    let mut labels = diagnostic.primary().into_iter().chain(&diagnostic.labels);
    let says_both =
        |label: &&Label| label.text.starts_with("expected ") && label.text.contains(", found ");
    let label = labels.find(says_both)?;
    let (expected, found) = label
        .text
        .strip_prefix("expected ")?
        .split_once(", found ")?;
    let [expected, found] = [expected, found].map(|kind| kind.trim_matches('`'));
    let is_literal = |kind: &str| matches!(kind, "integer" | "floating-point number");
    let has_edits = diagnostic.notes.iter().any(|note| !note.edits.is_empty());
    let value = operand(context.marked(label));
    if found == "()" {
        return unit(diagnostic, context, expected);
    }
    let text = match (expected, found) {
        ("bool", "&bool" | "&&bool") => return None,
        ("bool", _) if is_text(found) || found.starts_with("Vec<") => {
            format!("a `bool` is a comparison or a test: `{value}.is_empty()`.")
        }
        ("bool", _) if found.starts_with("Option<") && has_edits => return None,
        ("bool", _) if is_number(found) => match context.primary(diagnostic).strip_prefix('!') {
            Some(negated) => format!(
                "`!` negates a `bool`. Compare: `{} == 0`.",
                operand(negated)
            ),
            None => format!("a `bool` is `true`, `false` or a comparison: `{value} != 0`."),
        },
        ("bool", _) => "a `bool` is `true`, `false` or a comparison, such as `x > 0`.".to_owned(),
        (to, _) if is_literal(to) => return None,
        (to, _) if is_number(to) && is_number(found) => {
            // An operator has a message of its own.
            match has_edits && is_literal(found) || is_of_operator(diagnostic, context) {
                true => return None,
                false if is_float(found) && !is_float(to) => {
                    format!("convert: `{value} as {to}`, which cuts off the fraction.")
                }
                false => format!("convert: `{value} as {to}`."),
            }
        }
        (to, _) if is_number(to) && is_text(found) && !has_edits && !value.starts_with('"') => {
            format!("a string becomes a number with `{value}.parse::<{to}>()?`.")
        }
        ("String", _) if (is_text(found) || is_number(found)) && !has_edits => {
            format!("an owned string is `{value}.to_string()`.")
        }
        _ if expected.starts_with("Vec<") => return list(expected, found, &value),
        _ => return of_taper(expected, found, &value, context),
    };
    Some(besides(text))
}

/// Returns whether the value is an operand of an arithmetic operator.
fn is_of_operator(diagnostic: &Diagnostic, context: &Context) -> bool {
    let marked = context.primary(diagnostic);
    let operation = context.around::<ast::BinExpr>(diagnostic);
    operation.is_some_and(|it| {
        let is_arithmetic = matches!(it.op_kind(), Some(ast::BinaryOp::ArithOp(_)));
        is_arithmetic && it.syntax().text() != marked
    })
}

/// Explains a list of another kind than a `Vec` of these elements.
fn list(expected: &str, found: &str, value: &str) -> Option<Hint> {
    let element = |kind: &str| Some(kind.strip_prefix("Vec<")?.strip_suffix('>')?.to_owned());
    let text = if found.starts_with('[') && value.starts_with('[') {
        format!("a list is `vec!{value}`.")
    } else if found.starts_with('[') || found.starts_with("&[") {
        format!("a list is made of an array or a slice with `{value}.to_vec()`.")
    } else {
        let (to, from) = (element(expected)?, element(found)?);
        if !is_number(&to) || !is_number(&from) {
            return None;
        }
        format!("convert each element: `{value}.iter().map(|x| *x as {to}).collect::<Vec<_>>()`.")
    };
    Some(besides(text))
}

/// Explains arguments of taper's functions.
fn of_taper(expected: &str, found: &str, value: &str, context: &Context) -> Option<Hint> {
    let name = expected.trim_start_matches('&');
    if context.defines_item(name) {
        return None;
    }
    let text = match (expected, found) {
        ("&Device", _) if is_text(found) => {
            "a device is found by its name and borrowed: `&device(\"cuda:0\")?`, or `&cpu()`."
                .to_owned()
        }
        ("&Device", _) => "a device is borrowed with `&`: `x.to_device(&try_gpu(0))`.".to_owned(),
        ("&Tensor", "&Parameter" | "Parameter") => {
            "the tensor of a parameter is `w.tensor()`: `gradients.of(&w.tensor())`.".to_owned()
        }
        ("&Tensor", "Tensor") => "a tensor is borrowed with `&`: `a.matmul(&b)`.".to_owned(),
        ("&Tensor", _) if is_number(found.trim_start_matches('&')) => format!(
            "a tensor is expected, and this is one value: operators take both, as in `&x * 2.0`, and `&tensor({})` makes a \
             tensor.",
            value.trim_start_matches(['(', '&']).trim_end_matches(')')
        ),
        ("&Tensor", _) if found.starts_with("Vec<") || found.starts_with("&[") => {
            format!(
                "a tensor is made of the values with `tensor(…)`, and borrowed: `&tensor({value})`."
            )
        }
        _ => return None,
    };
    Some(besides(text))
}

/// Explains a shared reference where a mutable one is expected.
fn mutability(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let marked = context.primary(diagnostic);
    if marked.starts_with("&mut") || marked.contains('*') {
        return None;
    }
    Some(besides(match marked.strip_prefix('&') {
        Some(value) => format!(
            "a value that is changed is borrowed with `&mut`: `&mut {value}`, and its variable begins with `let mut`."
        ),
        None => format!(
            "`{marked}` is a shared reference, with which a value cannot be changed. Borrow the value with `&mut` in its place."
        ),
    }))
}

/// Explains `()` where a value is expected.
fn unit(diagnostic: &Diagnostic, context: &Context, expected: &str) -> Option<Hint> {
    let says = |text: &str| {
        let mut labels = diagnostic.labels.iter().map(|label| &label.text);
        let mut notes = diagnostic.notes.iter().map(|note| &note.message);
        labels.any(|it| it.contains(text)) || notes.any(|it| it.contains(text))
    };
    if says("remove this semicolon") {
        return Some(besides(
            "the block has no value. Is there a `;` after its last line that should not be there?",
        ));
    }
    if says("compare for equality") || says("`if` expressions without `else`") {
        return None;
    }
    if says("loops evaluate to unit type") {
        return Some(besides(
            "a loop has no value: write the value on a line below it.",
        ));
    }
    if says("implicitly returns `()`") {
        return Some(besides(format!(
            "the last line of the function's body is its result: an expression of type `{expected}`, without `;`."
        )));
    }
    let marked = context.primary(diagnostic);
    if marked.starts_with('{') {
        return Some(besides(
            "the block has no value. Is there a `;` after its last line that should not be there?",
        ));
    }
    let is_called = marked.ends_with(')');
    is_called.then(|| returns_nothing(marked, says("modifies its receiver")))
}

fn returns_nothing(call: &str, changes_receiver: bool) -> Hint {
    let call = operand(call);
    besides(match changes_receiver {
        true => format!(
            "`{call}` returns nothing: it changes the value itself, which can be used afterwards."
        ),
        false => format!("`{call}` returns nothing, `()`."),
    })
}

/// Explains a method that is called on `()`.
fn unit_receiver(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    if diagnostic.code.as_deref() != Some("E0599")
        || !diagnostic.message.contains("for unit type `()`")
    {
        return None;
    }
    let call = context.around::<ast::MethodCallExpr>(diagnostic);
    let receiver = call.and_then(|it| it.receiver())?;
    let text = receiver.syntax().text().to_string();
    Some(match receiver {
        ast::Expr::CallExpr(_) | ast::Expr::MethodCallExpr(_) | ast::Expr::MacroExpr(_) => {
            returns_nothing(&text, false)
        }
        _ => besides(format!(
            "`{}` is `()`: the code that should produce it has a `;` after its last line, or calls a function that returns \
             nothing.",
            operand(&text)
        )),
    })
}
