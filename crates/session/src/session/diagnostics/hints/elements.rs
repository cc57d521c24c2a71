//! Elements of lists: iterators, collections, order.

use super::hint::{Hint, besides, is_float, is_integer, is_text, one, operand, quotes};
use crate::session::diagnostics::context::Context;
use crate::session::diagnostics::diagnostic::Diagnostic;
use ra_ap_syntax::ast::{self, AstNode};

pub(super) fn hint(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    collection(diagnostic, context)
        .or_else(|| not_iterable(diagnostic, context))
        .or_else(|| array_method(diagnostic, context))
        .or_else(|| order(diagnostic, context))
}

/// Explains elements of which a collection cannot be made.
fn collection(diagnostic: &Diagnostic, _: &Context) -> Option<Hint> {
    let message = &diagnostic.message;
    if !message.contains("cannot be built") || !message.contains(" an iterator") {
        return None;
    }
    let mut types = quotes(message);
    let (whole, element) = (types.next()?, types.next().unwrap_or_default());
    let inner = whole.split_once('<');
    let inner = inner.and_then(|(_, inner)| inner.strip_suffix('>'));
    let is_map = whole.contains("Map<");
    let text = if whole.starts_with('[') {
        "an array has a fixed length. Collect into a list: `.collect::<Vec<_>>()`.".to_owned()
    } else if is_map && !element.starts_with('(') {
        "a map is collected from pairs: `.map(|x| (key, value))` before `.collect()`.".to_owned()
    } else if whole == "String" {
        "a `String` is collected from characters or strings: `.map(|x| x.to_string())` before `.collect()`.".to_owned()
    } else if inner.is_some_and(|inner| element.trim_start_matches('&') == inner) {
        format!("the elements are references, `{element}`. Copy them: `.cloned().collect()`.")
    } else if let Some(inner) =
        inner.filter(|it| is_value(it) && is_value(element.trim_start_matches('&')))
    {
        let reference = if element.starts_with('&') { "*" } else { "" };
        format!("convert each element: `.map(|x| {reference}x as {inner})` before `.collect()`.")
    } else if inner.is_none() {
        format!(
            "{} is not a collection. Collect into a list: `.collect::<Vec<_>>()`.",
            one(whole)
        )
    } else {
        return None;
    };
    Some(besides(text))
}

fn is_value(kind: &str) -> bool {
    is_integer(kind) || is_float(kind)
}

/// Explains `for x in …` over what has no elements.
fn not_iterable(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let kind = diagnostic.message.strip_suffix("` is not an iterator")?;
    let kind = kind.trim_start_matches('`');
    let value = operand(context.primary(diagnostic));
    let own = kind.trim_start_matches('&');
    let text = if is_integer(own) {
        format!("iterate over the integers below it with `for i in 0..{value}`.")
    } else if is_text(kind) || own == "str" {
        format!(
            "iterate over its characters with `for c in {value}.chars()`, over its lines with `.lines()`."
        )
    } else if own == "Tensor" && !context.defines_item(own) {
        format!(
            "iterate over the indices of its rows: `for i in 0..{value}.dim(0) {{ let row = {value}.i(i); … }}`."
        )
    } else if kind.starts_with("Range<") {
        "a range of floats has no step. Iterate over integers, and calculate from them: `(0..10).map(|i| i as f64 * 0.1)`.".to_owned()
    } else if own.starts_with('(') {
        "a tuple is not a list. Write an array: `for x in [1, 2]`.".to_owned()
    } else if context.defines_item(own) {
        format!(
            "`{own}` is a type of yours without elements. Iterate over a field that is a list, or write `impl Iterator for {own}`."
        )
    } else if is_float(own) {
        "one value has no elements. Iterate over a list with `for x in &v`, over integers with `for i in 0..n`.".to_owned()
    } else {
        return None;
    };
    Some(besides(text))
}

/// Explains a method of iterators that is called on an array.
fn array_method(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let (_, rest) = diagnostic.message.split_once("the method `")?;
    let (method, rest) = rest.split_once("` exists for array `[")?;
    let array = rest.split("`, but").next()?;
    let is_iterator = |text: &str| text.contains(&format!("`[{array}: Iterator`"));
    let mut notes = diagnostic.notes.iter();
    if !notes.any(|note| is_iterator(&note.message)) {
        return None;
    }
    let element = match array.split(';').next().unwrap_or_default() {
        "{integer}" => "i32",
        "{float}" => "f64",
        other => other,
    };
    let call = match method {
        "sum" | "product" => format!("{method}::<{element}>()"),
        "max" | "min" if is_float(element) => {
            format!("copied().fold({element}::NAN, {element}::{method})")
        }
        _ => format!("{method}(…)"),
    };
    Some(besides(format!(
        "the elements of an array are reached with `.iter()`: `{}.iter().{call}`.",
        receiver(diagnostic, context)
    )))
}

/// Returns what a method is called on.
fn receiver(diagnostic: &Diagnostic, context: &Context) -> String {
    let call = context.around::<ast::MethodCallExpr>(diagnostic);
    let receiver = call.and_then(|it| it.receiver());
    receiver.map_or_else(
        || "v".to_owned(),
        |it| operand(&it.syntax().text().to_string()),
    )
}

/// Explains what needs an order, of which floats have none because of NaN.
fn order(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let kind = diagnostic.message.strip_prefix("the trait bound `")?;
    let kind = kind
        .strip_suffix(": Ord` is not satisfied")?
        .trim_start_matches('&');
    let kind = if kind == "{float}" { "f64" } else { kind };
    if !is_float(kind) {
        return None;
    }
    let marked = context.marked_method(diagnostic);
    let text = match marked.as_str() {
        "sort" | "sort_unstable" => format!(
            "floats are sorted with `{}.sort_by({kind}::total_cmp);`.",
            receiver(diagnostic, context)
        ),
        "max" | "min" => format!(
            "the {marked} of floats is found with `.{marked}_by(|a, b| a.total_cmp(b))`; that of two, with `a.{marked}(b)`."
        ),
        "sort_by_key" | "sort_by_cached_key" => {
            "a float is not a key to sort by. Compare two: `.sort_by(|a, b| a.x.total_cmp(&b.x))`."
                .to_owned()
        }
        "max_by_key" | "min_by_key" => format!(
            "a float is not a key. Compare two: `.{}(|a, b| a.x.total_cmp(&b.x))`.",
            marked.trim_end_matches("_key")
        ),
        "binary_search" => format!(
            "floats are searched with `.binary_search_by(|x| x.total_cmp(&{}))`.",
            "wanted"
        ),
        _ => format!(
            "floats have no total order, because of NaN: `{kind}` does not implement `Ord`. Two are compared with `a.total_cmp(&b)`."
        ),
    };
    Some(besides(text))
}
