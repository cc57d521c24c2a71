//! The type of the hints in this folder, and how they quote the user's code and rustc's words.

use crate::syntax::Syntax;

/// The longest expression that a hint repeats, in characters.
const LONGEST: usize = 40;

/// A hint, and whether it replaces the compiler's notes.
pub(super) struct Hint {
    pub(super) text: String,
    pub(super) instead: bool,
}

/// Returns a hint in place of the compiler's notes.
pub(super) fn instead(text: impl Into<String>) -> Hint {
    Hint {
        text: text.into(),
        instead: true,
    }
}

/// Returns a hint below the compiler's notes.
pub(super) fn besides(text: impl Into<String>) -> Hint {
    Hint {
        text: text.into(),
        instead: false,
    }
}

/// Returns the texts between backticks.
pub(super) fn quotes(message: &str) -> impl Iterator<Item = &str> {
    message.split('`').skip(1).step_by(2)
}

/// Returns the first text between backticks.
pub(super) fn quoted(message: &str) -> &str {
    quotes(message).next().unwrap_or_default()
}

/// Returns an expression of the user such that `.method()` and `as` can follow it. A long one is `…`.
pub(super) fn operand(expression: &str) -> String {
    let expression = expression.trim();
    if expression.is_empty() || expression.contains('\n') || expression.chars().count() > LONGEST {
        return "…".to_owned();
    }
    match Syntax::of(expression).is_operand() {
        true => expression.to_owned(),
        false => format!("({expression})"),
    }
}

/// Returns a type with its article: ``a `String` ``.
pub(super) fn one(kind: &str) -> String {
    let name = match kind {
        "{integer}" => return "an integer".to_owned(),
        "{float}" => return "a floating-point number".to_owned(),
        name => name,
    };
    let is_vowel = |c: char| "AEIOaeio".contains(c) || c == 'f' && is_float(name);
    let article = if name.starts_with(is_vowel) {
        "an"
    } else {
        "a"
    };
    format!("{article} `{name}`")
}

/// Returns the type that a literal has, where nothing else says it.
pub(super) fn default_of(kind: &str) -> &str {
    match kind {
        "{float}" => "f64",
        "{integer}" => "i32",
        other => other,
    }
}

/// Returns whether this is a number type, as rustc writes it: `f32`, `usize`, `{integer}`, …
pub(super) fn is_number(kind: &str) -> bool {
    is_integer(kind) || is_float(kind)
}

pub(super) fn is_integer(kind: &str) -> bool {
    let size = kind.strip_prefix(['i', 'u']);
    matches!(kind, "{integer}" | "integer")
        || size.is_some_and(|it| matches!(it, "8" | "16" | "32" | "64" | "128" | "size"))
}

pub(super) fn is_float(kind: &str) -> bool {
    matches!(kind, "f32" | "f64" | "{float}" | "floating-point number")
}

/// Returns whether this is a string, owned or borrowed.
pub(super) fn is_text(kind: &str) -> bool {
    matches!(
        kind.replace("'static ", "").as_str(),
        "String" | "&str" | "&String"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_repeated_as_an_operand() {
        assert_eq!(operand("x"), "x");
        assert_eq!(operand("v[0].f::<i32>()?"), "v[0].f::<i32>()?");
        assert_eq!(operand("n + 1"), "(n + 1)");
        assert_eq!(operand("-1"), "(-1)");
        assert_eq!(operand("f(\n)"), "…");
    }

    #[test]
    fn types_are_told_apart() {
        for kind in ["i32", "usize", "{integer}", "f64", "{float}"] {
            assert!(is_number(kind), "{kind}");
        }
        for kind in ["i3", "f", "u", "Point", "usize2", "float"] {
            assert!(!is_number(kind), "{kind}");
        }
        assert!(is_text("&'static str") && !is_text("str"));
    }
}
