//! Number types: arithmetic, casts, indices.

use super::hint::{Hint, besides, instead, is_float, is_number, is_text, one, operand, quotes};
use crate::session::diagnostics::context::Context;
use crate::session::diagnostics::diagnostic::Diagnostic;
use ra_ap_syntax::ast::{self, AstNode};

pub(super) fn hint(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    arithmetic(diagnostic, context)
        .or_else(|| index(diagnostic, context))
        .or_else(|| cast(diagnostic, context))
        .or_else(|| negation(diagnostic, context))
        .or_else(|| power(diagnostic, context))
}

/// Explains operators between two types: `2 * 1.5`, `x * 2`.
fn arithmetic(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let message = &diagnostic.message;
    let verbs = ["add", "subtract", "multiply", "divide", "calculate"];
    let is_about = |verb: &&str| message.starts_with(&format!("cannot {verb} "));
    if !verbs.iter().any(is_about) {
        return None;
    }
    if message.contains(" a float ") || message.contains(" an integer ") {
        return Some(besides(DECIMAL_POINT));
    }
    let types: Vec<&str> = quotes(message).map(|t| t.trim_start_matches('&')).collect();
    let has = |test: fn(&str) -> bool| types.iter().any(|kind| test(kind));
    let is_tensor = |kind: &&str| *kind == "Tensor" && !context.defines_item("Tensor");
    let text = if matches!(types[..], [number, "Tensor"] if is_number(number)) {
        "write the tensor first: `&x * n`. On the left of a tensor, a number is an `f64` or an `i64`: `n as f64`."
    } else if types.iter().any(is_tensor) && has(is_number) {
        WITH_TENSORS
    } else if types.iter().all(|kind| is_number(kind)) {
        match diagnostic.notes.is_empty() {
            true if has(|kind| kind == "{integer}") && has(is_float) => DECIMAL_POINT,
            true => return both(diagnostic, context),
            false => return None,
        }
    } else {
        return others(&types, message.starts_with("cannot add "));
    };
    Some(besides(text))
}

const DECIMAL_POINT: &str = "Rust does not mix number types. Write the integer with a decimal point (`2.0`), or convert one \
                             side: `n as f64`.";

const WITH_TENSORS: &str = "a tensor calculates with `f64`, `f32`, `i64`, `i32`, `u32`, `u8` and `usize`: convert with `n as f64`.";

/// Says how to convert one side of an operator between two number types.
fn both(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let sides = context.around::<ast::BinExpr>(diagnostic);
    let sides = sides.and_then(|it| Some((it.lhs()?, it.rhs()?)));
    let kinds: Vec<&str> = quotes(&diagnostic.message)
        .map(|kind| kind.trim_start_matches('&'))
        .collect();
    let &[first, second] = &kinds[..] else {
        return None;
    };
    // rustc says "cannot add right to left", but "multiply left by right".
    let is_turned = [" to `", " from `"]
        .iter()
        .any(|word| diagnostic.message.contains(word));
    let (left, right) = if is_turned {
        (second, first)
    } else {
        (first, second)
    };
    let how = match sides {
        Some((lhs, rhs)) => {
            let wide = wider(left, right);
            let side = if wide == left { rhs } else { lhs };
            let side = operand(&side.syntax().text().to_string());
            format!("`{side} as {}`", default_of(wide))
        }
        None => format!("`n as {}`", default_of(wider(left, right))),
    };
    Some(besides(format!(
        "Rust does not mix number types, here `{}` and `{}`. Convert one side: {how}.",
        default_of(left),
        default_of(right),
    )))
}

/// Returns the type that a literal has, where nothing else says it.
fn default_of(kind: &str) -> &str {
    match kind {
        "{float}" => "f64",
        "{integer}" => "i32",
        other => other,
    }
}

/// Returns the type that holds more of the values of both.
fn wider<'a>(left: &'a str, right: &'a str) -> &'a str {
    let size = |kind: &str| match kind {
        _ if is_float(kind) => 1000 + kind.trim_start_matches('f').parse().unwrap_or(64),
        // An index stays one.
        "usize" | "isize" => 64,
        _ => kind[1..].parse().unwrap_or(0),
    };
    if size(right) > size(left) {
        right
    } else {
        left
    }
}

/// Explains operators on what is not a number.
fn others(types: &[&str], is_sum: bool) -> Option<Hint> {
    let is_option = |kind: &&str| kind.starts_with("Option<");
    let text = if types.iter().any(is_option) {
        "an `Option` is a value, or nothing. Take the value first, with `.unwrap_or(0)` or `if let Some(x) = …`."
    } else if is_sum && types.iter().any(|kind| is_text(kind) || *kind == "str") {
        "strings and values are joined with `format!(\"{a} {b}\")`; print several values with `println!(\"{a} {b}\")`. A \
         string becomes a number with `s.parse::<f64>()?`."
    } else {
        return None;
    };
    Some(besides(text))
}

/// Explains an index that is not a `usize`.
fn index(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let (list, kind) = diagnostic.message.split_once("cannot be indexed by ")?;
    let kind = kind.trim_matches('`');
    if diagnostic.code.as_deref() != Some("E0277") || !list.contains("the type `[") {
        return None;
    }
    let marked = context.primary(diagnostic);
    let value = kind.trim_start_matches('&');
    let text = if is_number(value) && kind != "&usize" {
        let reference = if value == kind { "" } else { "*" };
        let whole = if is_float(value) {
            ", which cuts off the fraction"
        } else {
            ""
        };
        let marked = operand(marked);
        format!("an index is a `usize`. Convert it: `[{reference}{marked} as usize]`{whole}.")
    } else if let Some(end) = kind
        .strip_prefix("Range<")
        .and_then(|it| it.strip_suffix('>'))
        .filter(|end| is_number(end))
    {
        format!(
            "the ends of the range are `usize`, not `{end}`. Convert them: `[a as usize..b as usize]`."
        )
    } else if is_text(kind) {
        "the elements of a list have indices. Values with names are in a `std::collections::HashMap`."
            .to_owned()
    } else {
        return None;
    };
    Some(besides(text))
}

/// Explains `as` between types that it does not convert.
fn cast(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let code = diagnostic.code.as_deref()?;
    if !["E0054", "E0604", "E0605", "E0606", "E0620"].contains(&code) {
        return None;
    }
    let cast = context.around::<ast::CastExpr>(diagnostic);
    let value = cast.and_then(|cast| Some(cast.expr()?.syntax().text().to_string()));
    let value = operand(&value.unwrap_or_else(|| "…".to_owned()));
    let mut types = quotes(&diagnostic.message);
    let (from, to) = (types.next()?, types.next().unwrap_or_default());
    let has_edits = diagnostic.notes.iter().any(|note| !note.edits.is_empty());
    let text = match code {
        "E0604" if has_edits => return None,
        "E0604" => format!(
            "only a `u8` becomes a character: `97u8 as char`; another integer with `char::from_u32({value} as u32)`."
        ),
        "E0054" | "E0606" if to == "bool" && is_number(from) && !has_edits => {
            format!("a number becomes a `bool` by a comparison: `{value} != 0`.")
        }
        _ if is_text(from) && is_number(to) => format!(
            "`as` converts number types. A string becomes a number with `{value}.parse::<{to}>()?`."
        ),
        _ if is_text(to) || to == "str" => {
            format!(
                "`as` converts number types. A value becomes a string with `{value}.to_string()`."
            )
        }
        "E0606" if from.starts_with('&') && is_number(to) && !has_edits => {
            format!("a reference is dereferenced before the conversion: `*{value} as {to}`.")
        }
        "E0605" if from == "Tensor" && is_number(to) && !context.defines_item("Tensor") => {
            format!("the value of a tensor with one element is `{value}.item()`.")
        }
        "E0605" if from.starts_with("Vec<") && to.starts_with("Vec<") => {
            let element = to.trim_start_matches("Vec<").trim_end_matches('>');
            format!(
                "`as` converts one value: `{value}.iter().map(|x| *x as {element}).collect::<Vec<_>>()`."
            )
        }
        "E0605" if from.starts_with("Option<") => format!(
            "an `Option` is a value, or nothing. Take the value first: `{value}.unwrap_or_default()`."
        ),
        "E0605" if context.defines_item(from) => format!(
            "`as` converts number types. Write a method of `{from}` that returns the `{to}`."
        ),
        "E0605" => "`as` converts one number type to another.".to_owned(),
        "E0620" if to.starts_with('[') => {
            format!("an array or a `Vec` becomes a slice with `&{value}[..]`.")
        }
        _ => return None,
    };
    Some(besides(text))
}

/// Explains `!` before what is not a `bool`.
fn negation(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let kind = diagnostic
        .message
        .strip_prefix("cannot apply unary operator `!` to type `")?;
    let kind = kind.trim_end_matches('`').trim_start_matches('&');
    let marked = context.primary(diagnostic).trim_start_matches('!');
    let value = operand(marked);
    let how = match kind {
        _ if is_number(kind) => format!("compare first: `{value} == 0.0`"),
        "String" | "str" => format!("ask whether it is empty: `{value}.is_empty()`"),
        _ if kind.starts_with("Vec<") => format!("ask whether it is empty: `{value}.is_empty()`"),
        _ if kind.starts_with("Option<") => {
            format!("ask whether there is a value: `{value}.is_none()`")
        }
        _ if kind.starts_with("Result<") => {
            format!("ask whether it is an error: `{value}.is_err()`")
        }
        "Tensor" if !context.defines_item(kind) => {
            format!("compare its elements first: `{value}.eq(0)` is 1 where they are 0")
        }
        _ => "compare first".to_owned(),
    };
    Some(besides(format!(
        "`!` negates a `bool`, and this is {}; {how}.",
        one(kind)
    )))
}

/// Explains `**`, which is a product with a dereferenced value.
fn power(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    if diagnostic.code.as_deref() != Some("E0614") {
        return None;
    }
    let outer = context.around::<ast::BinExpr>(diagnostic);
    let is_power = outer.is_some_and(|it| it.syntax().text().to_string().contains("**"));
    if is_power {
        return Some(instead(
            "Rust has no `**`. A power is `x.powi(2)` of a float, `n.pow(2)` of an integer, `t.pow(2)` of a tensor.",
        ));
    }
    let kind = quotes(&diagnostic.message).next()?;
    Some(besides(format!(
        "`*` is for references and pointers, and this is {}: remove the `*`.",
        one(kind)
    )))
}
