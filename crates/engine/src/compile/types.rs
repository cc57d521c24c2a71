//! The types of new variables.
//!
//! The source of a cell contains `let _ = &x as &_;` for each new variable. The warning of the lint `trivial_casts` says
//! the type, so a cell is compiled once. It is forced: no attribute of the user's changes its level. rustc shortens `std::collections::HashMap` to `HashMap`
//! where only one type has this name. If that name is not in scope, the cell is checked once more, in the
//! background, with an empty struct of the same name, so that rustc writes the whole path ([`DECOYS`]).

use crate::diagnostic::Diagnostic;
use crate::words as rustc;
use std::collections::{HashMap, HashSet};

/// The module in which names are defined a second time.
pub(crate) const DECOYS: &str = "taper_decoys";

/// The lint whose warning says a type.
pub(super) const LINT: &str = "trivial_casts";

/// Returns whether the engine has asked for a warning.
pub(crate) fn is_ours(warning: &Diagnostic) -> bool {
    warning.has_code(LINT)
}

/// Returns the type that a warning says, and the line of the expression.
pub(crate) fn of_warning(warning: &Diagnostic) -> Option<(usize, &str)> {
    if !warning.has_code(LINT) {
        return None;
    }
    let (kind, _) = warning
        .message
        .strip_prefix(rustc::CAST)?
        .split_once(rustc::CAST_TO)?;
    Some((warning.primary()?.line_start, kind))
}

/// Returns whether a type can be written in source: those of closures, functions and futures cannot.
pub(crate) fn has_a_name(kind: &str) -> bool {
    !kind.contains('{') && !words(kind).any(|word| word.text == "impl")
}

/// Returns a type as source: rustc leaves out the parentheses in `&(dyn Fn() + Send)`.
pub(crate) fn written(kind: &str) -> String {
    let mut text = String::new();
    let mut rest = kind;
    while let Some(at) = rest.find("dyn ") {
        let before = rest[..at].trim_end();
        let word = before.rsplit(['&', '*', ' ', '(', '<', '[', ',']).next();
        let is_pointed_to = before.ends_with('&')
            || word.is_some_and(|it| it.starts_with('\'') || ["mut", "const"].contains(&it));
        let end = at + end_of_bounds(&rest[at..]);
        let bounds = &rest[at..end];
        text += &rest[..at];
        match is_pointed_to && bounds.contains(" + ") {
            true => text += &format!("({bounds})"),
            false => {
                // There may be another within.
                text += "dyn ";
                rest = &rest[at + "dyn ".len()..];
                continue;
            }
        }
        rest = &rest[end..];
    }
    text + rest
}

/// Returns where the bounds end with which a type begins.
fn end_of_bounds(kind: &str) -> usize {
    let mut depth = 0;
    let mut before = ' ';
    for (at, c) in kind.char_indices() {
        match c {
            '(' | '[' | '<' => depth += 1,
            '>' if before == '-' => {}
            ')' | ']' | '>' | ',' | ';' if depth == 0 => return at,
            ')' | ']' | '>' => depth -= 1,
            _ => {}
        }
        before = c;
    }
    kind.len()
}

/// Returns the names in a type whose path is missing, but for those that are always in scope. rustc writes either
/// the name alone or the whole path, which begins with the name of a package.
pub(crate) fn short_names(kind: &str) -> HashSet<&str> {
    let short = words(kind).filter(|word| word.is_first && !word.is_path);
    let names = short.map(|word| word.text);
    names.filter(|name| !ALWAYS.contains(name)).collect()
}

/// Represents all types that can contain a value of any type, in a set of names of types.
pub(crate) const ERASED: &str = "dyn Any";

/// The traits by which a value is found again by its type.
pub(crate) const CAN_BE_ANY: [&str; 2] = ["Any", "Error"];

/// Returns whether a type names one of these types of the notebook, or may contain one of them.
pub(crate) fn names_one_of(kind: &str, names: &HashSet<String>) -> bool {
    words(kind).any(|word| word.is_first && names.contains(word.text))
        || names.contains(ERASED) && is_erased(kind)
}

/// Returns whether a value of any type may be in a type: `Box<dyn Any>`, `Box<dyn Error>`, `anyhow::Error`.
fn is_erased(kind: &str) -> bool {
    let can_be_any = |path: &str| CAN_BE_ANY.contains(&path.rsplit("::").next().unwrap_or(path));
    let is_end = |c: char| matches!(c, '>' | ')' | ']' | ',' | ';');
    let mut objects = kind
        .split("dyn ")
        .skip(1)
        .filter_map(|text| text.split(is_end).next());
    objects.any(|bounds| bounds.split(" + ").any(can_be_any)) || kind.contains("anyhow::Error")
}

/// Returns a type with paths in place of these names, if all paths are known.
pub(crate) fn with_paths(
    kind: &str,
    names: &[&str],
    paths: &HashMap<String, String>,
) -> Option<String> {
    let mut text = String::new();
    let mut rest = kind;
    for word in words(kind).filter(|word| word.is_first && names.contains(&word.text)) {
        let at = word.text.as_ptr().addr() - rest.as_ptr().addr();
        text.push_str(&rest[..at]);
        text.push_str(paths.get(word.text)?);
        rest = &rest[at + word.text.len()..];
    }
    Some(text + rest)
}

/// Returns the paths in a type, by their last name.
pub(crate) fn paths_in(kind: &str) -> HashMap<String, String> {
    let is_part = |c: char| c == '_' || c == ':' || c.is_alphanumeric();
    let paths = kind
        .split(|c| !is_part(c))
        .filter(|path| path.contains("::"));
    let named =
        paths.filter_map(|path| Some((path.rsplit("::").next()?.to_owned(), path.to_owned())));
    named.filter(|(name, _)| !name.is_empty()).collect()
}

struct Word<'a> {
    text: &'a str,
    /// Whether a path begins with it.
    is_first: bool,
    /// Whether the path goes on after it.
    is_path: bool,
}

/// Splits a type into names; lifetimes and the names of associated types are left out.
fn words(kind: &str) -> impl Iterator<Item = Word<'_>> {
    let is_part = |c: char| c == '_' || c == '#' || c.is_alphanumeric();
    let mut rest = kind;
    let mut before = "";
    std::iter::from_fn(move || {
        let start = rest.find(is_part)?;
        let gap = if start > 0 { &rest[..start] } else { before };
        let end = rest[start..]
            .find(|c| !is_part(c))
            .map_or(rest.len(), |end| start + end);
        let text = &rest[start..end];
        let after = &rest[end..];
        let is_named = after.starts_with(" = ");
        let is_lifetime = gap.ends_with('\'');
        let is_number = text.starts_with(|c: char| c.is_ascii_digit());
        let is_first = !gap.ends_with("::") && !is_named && !is_lifetime && !is_number;
        rest = after;
        before = "";
        Some(Word {
            text,
            is_first,
            is_path: after.starts_with("::"),
        })
    })
}

/// Keywords, primitive types, and the types of Rust's prelude.
#[rustfmt::skip]
const ALWAYS: [&str; 47] = [
    "AsMut", "AsRef", "Box", "Clone", "Copy", "DoubleEndedIterator", "Eq", "ExactSizeIterator", "Fn",
    "FnMut", "FnOnce", "Iterator", "Option", "Ord", "Result", "Send", "Sized", "String", "Sync", "ToString",
    "Unpin", "Vec", "_", "bool", "char", "const", "dyn", "extern", "f32", "f64", "fn", "for", "i128", "i16",
    "i32", "i64", "i8", "isize", "mut", "str", "u128", "u16", "u32", "u64", "u8", "unsafe", "usize",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(kind: &str) -> Vec<&str> {
        let mut names: Vec<&str> = short_names(kind).into_iter().collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn the_names_that_must_be_in_scope_are_found() {
        assert!(sorted("Vec<(i32, &str, [u8; 3])>").is_empty());
        assert_eq!(
            sorted("HashMap<u8, P<std::sync::Arc<Q>>>"),
            ["HashMap", "P", "Q"]
        );
        assert_eq!(
            sorted("Box<dyn for<'a> Fn(&'a str) -> Net + 'static>"),
            ["Net"]
        );
        assert_eq!(sorted("Box<dyn Iterator<Item = Row>>"), ["Row"]);
    }

    #[test]
    fn types_without_a_name_are_recognized() {
        for kind in [
            "{closure@cell-1:1:9: 1:12}",
            "fn() -> usize {hit}",
            "impl Future",
            "Map<I, {closure@a}>",
        ] {
            assert!(!has_a_name(kind), "{kind}");
        }
        assert!(has_a_name("Vec<Simple>"));
    }

    #[test]
    fn bounds_behind_a_reference_are_in_parentheses() {
        for (kind, source) in [
            ("&dyn Fn(i32) -> i32 + Send", "&(dyn Fn(i32) -> i32 + Send)"),
            (
                "Vec<&'static dyn Fn(&str) + Send + Sync>",
                "Vec<&'static (dyn Fn(&str) + Send + Sync)>",
            ),
            ("(*const dyn A<B> + C, u8)", "(*const (dyn A<B> + C), u8)"),
            ("Box<dyn Fn() -> u8 + Send>", "Box<dyn Fn() -> u8 + Send>"),
            ("&'a mut dyn Debug", "&'a mut dyn Debug"),
            ("Box<dyn Fn(&dyn A + B)>", "Box<dyn Fn(&(dyn A + B))>"),
        ] {
            assert_eq!(written(kind), source);
        }
    }

    #[test]
    fn known_paths_are_put_in() {
        let paths = paths_in("std::collections::HashMap<u8, Vec<taper::nn::Net>>");
        assert_eq!(
            with_paths("Vec<HashMap<Net, u8>>", &["HashMap", "Net"], &paths).as_deref(),
            Some("Vec<std::collections::HashMap<taper::nn::Net, u8>>")
        );
        assert_eq!(with_paths("Rc<Net>", &["Net", "Rc"], &paths), None);
    }

    #[test]
    fn a_path_does_not_name_a_type_of_the_notebook() {
        let names = HashSet::from(["Tensor".to_owned()]);
        assert!(names_one_of("Vec<Tensor>", &names));
        assert!(!names_one_of("Vec<taper::Tensor>", &names));
    }

    #[test]
    fn types_that_can_contain_any_type_are_found() {
        for kind in [
            "Box<dyn Any>",
            "HashMap<TypeId, Box<dyn std::any::Any + Send>>",
            "Result<(), Box<dyn std::error::Error + Send + Sync>>",
            "anyhow::Error",
        ] {
            assert!(is_erased(kind), "{kind}");
        }
        for kind in [
            "Box<dyn Fn(f64) -> f64>",
            "io::Error",
            "Result<(), Error>",
            "Vec<Any>",
        ] {
            assert!(!is_erased(kind), "{kind}");
        }
    }
}
