//! Python's syntax, functions and modules, and what Rust and Taper have instead.

use super::hint::{Hint, instead};
use super::tables::{TABLES, hint_for};
use crate::session::diagnostics::context::Context;
use crate::session::diagnostics::diagnostic::Diagnostic;
use crate::session::tokens::{depth_after, is_name, with_offsets};
use std::ops::RangeInclusive;
use taper_rust_cell::position::byte_offset;

/// Functions of torch and numpy that are methods of a tensor, and of a float if the second is true.
#[rustfmt::skip]
const METHODS: [(&str, bool); 10] = [
    ("abs", true), ("cos", true), ("exp", true), ("log", false), ("relu", false), ("sin", true), ("sqrt", true),
    ("tanh", true), ("transpose", false), ("reshape", false),
];

/// Modules of Python of which no package of crates.io is meant.
const MODULES: [&str; 11] = [
    "math", "os", "sys", "torch", "np", "numpy", "nn", "F", "optim", "plt", "pd",
];

/// Explains Python's syntax in the line of an error, if the error is in it or right behind it.
pub(super) fn syntax(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    // A word that is unknown, or a quote, where the parser has made two statements of a line.
    const CODES: [&str; 5] = ["E0423", "E0425", "E0762", "E0765", "E0766"];
    if diagnostic
        .code
        .as_deref()
        .is_some_and(|code| !CODES.contains(&code))
    {
        return None;
    }
    let (number, column) = diagnostic.primary().map_or((1, 1), |label| label.start);
    let line = context.cell.lines().nth(number - 1)?;
    let tokens = joined(line);
    let column = byte_offset(line, (1, column));
    let place = tokens.iter().take_while(|(end, _)| *end <= column).count();
    let tokens: Vec<&str> = tokens.into_iter().map(|(_, text)| text).collect();
    if is_prose(&tokens) {
        return Some(instead("a comment begins with `//`."));
    }
    let is_let = tokens.get(1) == Some(&"let");
    let mut rows = TABLES.python_syntax.iter();
    let found = rows.find(|(pattern, _)| {
        let is_type = is_let && pattern.ends_with(':');
        !is_type && is_in(pattern, &tokens).is_some_and(|range| range.contains(&place))
    });
    found.map(|(_, text)| instead(text))
}

/// Words after which Python has a name, without an operator.
#[rustfmt::skip]
const KEYWORDS: [&str; 36] = [
    "and", "as", "assert", "async", "await", "class", "def", "del", "elif", "else", "except", "for", "from", "global", "if",
    "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
    "print", "pip", "install", "cargo", "add", "None", "match",
];

/// Returns whether a line is a sentence: words of which two follow each other, as in no language for programs.
fn is_prose(tokens: &[&str]) -> bool {
    let is_word = |token: &&str| is_name(token) && !KEYWORDS.contains(token);
    let is_of_rust = |token: &str| ["fn", "let", "mut", "pub", "struct", "use"].contains(&token);
    let words = tokens.iter().filter(|token| is_name(token)).count();
    let others = tokens.iter().filter(|token| !is_name(token));
    words > 2
        && others
            .clone()
            .all(|token| [",", ".", "!", "?", ";", ":", "-"].contains(token))
        && others.count() < words
        && !tokens.iter().any(|token| is_of_rust(token))
        && tokens.windows(2).any(|pair| pair.iter().all(is_word))
}

/// Returns whether this is a module of Python of which no package of crates.io is meant.
pub(super) fn is_module(name: &str) -> bool {
    MODULES.contains(&name)
}

/// Explains a name that only Python has.
pub(super) fn name(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let name = context.primary(diagnostic);
    let says = |word: &str| diagnostic.message.contains(word);
    if says("module or crate") && !is_module(name) {
        return None;
    }
    if diagnostic.message.starts_with("cannot find function")
        && let Some((_, is_of_floats)) = METHODS.iter().find(|(word, _)| *word == name)
    {
        let what = if *is_of_floats {
            "a tensor and a float have"
        } else {
            "a tensor has"
        };
        return Some(instead(format!("{what} it as a method: `x.{name}(…)`.")));
    }
    let table = match () {
        () if says("function") => &TABLES.python_functions,
        () if says("cannot find type") => &TABLES.python_types,
        () => &TABLES.python_names,
    };
    hint_for(table, name).map(instead)
}

/// Explains a function of Python where Taper has one of the same name, for tensors: `max(n, 5)`.
pub(super) fn function(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let labels = diagnostic.labels.iter();
    let label = |text: &str| labels.clone().any(|label| label.text.contains(text));
    let is_meant = match diagnostic.code.as_deref()? {
        "E0061" => diagnostic.message.starts_with("this function takes"),
        "E0308" => {
            label("arguments to this function are incorrect")
                && label("expected `&Tensor`")
                && !label("found `Tensor`")
        }
        _ => false,
    };
    if !is_meant || !diagnostic.calls_taper {
        return None;
    }
    let is_called = |word: &str| labels.clone().any(|label| context.marked(label) == word);
    let mut rows = TABLES.python_functions.iter();
    let (_, text) = rows.find(|(word, _)| is_called(word))?;
    Some(instead(text))
}

/// Returns where the pattern occurs in the tokens: from its first token to the one behind its last.
fn is_in(pattern: &str, tokens: &[&str]) -> Option<RangeInclusive<usize>> {
    let pattern: Vec<&str> = pattern.split(' ').collect();
    match pattern.split_first() {
        Some((&"^", rest)) => begins(rest, tokens).map(|end| 0..=end),
        _ => (0..tokens.len())
            .find_map(|at| begins(&pattern, &tokens[at..]).map(|length| at..=at + length)),
    }
}

/// Returns how many tokens the pattern takes, if they begin with it.
fn begins(pattern: &[&str], tokens: &[&str]) -> Option<usize> {
    match (pattern, tokens) {
        ([], _) => Some(0),
        (["…", rest @ ..], _) => {
            let mut depth = 0;
            for (at, token) in tokens.iter().enumerate() {
                if depth == 0
                    && let Some(length) = begins(rest, &tokens[at..])
                {
                    return Some(at + length);
                }
                if depth == 0 && matches!(*token, ")" | "]" | "}") {
                    return None;
                }
                depth = depth_after(depth, token);
            }
            None
        }
        ([wanted, rest @ ..], [token, tokens @ ..]) if is(wanted, token) => {
            Some(1 + begins(rest, tokens)?)
        }
        _ => None,
    }
}

/// Returns the tokens of a line with their ends; signs that Rust's lexer takes apart and that belong together are joined.
fn joined(line: &str) -> Vec<(usize, &str)> {
    const SIGNS: [&str; 4] = ["::", "%%", "<>", "..."];
    let mut tokens = Vec::new();
    let mut end = 0;
    for (at, _, text) in with_offsets(line) {
        if at < end {
            continue;
        }
        let sign = SIGNS.iter().find(|sign| line[at..].starts_with(**sign));
        let text = sign.map_or(text, |sign| &line[at..at + sign.len()]);
        end = at + text.len();
        tokens.push((end, text));
    }
    tokens
}

fn is(wanted: &str, token: &str) -> bool {
    match wanted {
        "STR" => token.starts_with('"'),
        "NUM" => token.starts_with(|c: char| c.is_ascii_digit()),
        "NAME" => is_name(token),
        "'" => token.starts_with('\''),
        _ => wanted == token,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_found_among_the_tokens_of_a_line() {
        let found = |line: &str| {
            let tokens = joined(line).into_iter();
            let tokens: Vec<&str> = tokens.map(|(_, text)| text).collect();
            let mut rows = TABLES.python_syntax.iter();
            rows.find(|(pattern, _)| is_in(pattern, &tokens).is_some())
                .map(|(pattern, _)| pattern.as_str())
        };
        assert_eq!(found("[i*i for i in range(10)]"), Some("[ … for NAME in"));
        assert_eq!(found("f\"value {x}\""), Some("f STR"));
        assert_eq!(found("%%bash"), Some("^ %% bash"));
        assert_eq!(found("x[:, 0]"), Some("[ : ,"));
        assert_eq!(found("x[1:3]"), Some("[ NUM :"));
        assert_eq!(found("for i in range(3):"), Some("^ for … in … :"));
        assert_eq!(found("let y = x + 1"), None);
        assert_eq!(found("for x in Vec::<P>::new() {"), None);
        assert_eq!(found("f(x); for y in v {"), None);
        assert_eq!(found("#[derive(Debug)]"), None);
    }
}
