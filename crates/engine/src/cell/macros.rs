//! How a call of a macro that is a statement is read: as items, as a value or as a statement.
//!
//! The rules of a macro of the notebook mostly show what it expands to. Where they do not, and for macros of packages, the
//! call is read as items first, and rustc says whether that is wrong.

use super::statics;
use proc_macro2::{TokenStream, TokenTree};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use syn::{Ident, Item, Macro};

/// What a call expands to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reading {
    Items,
    /// An expression, whose value is shown at the end of a cell.
    Value,
    /// Statements without a value.
    Statement,
}

/// What is known about macros before a cell is parsed.
pub(crate) struct Macros<'a> {
    /// What rustc has said about the calls of this cell, by where they begin.
    pub(crate) revised: &'a BTreeMap<usize, Reading>,
    /// Returns the reading of a macro of another cell or of a package, by its path.
    pub(crate) known: &'a dyn Fn(&str) -> Reading,
}

/// Macros of this cell: what their rules show.
pub(super) type Own = HashMap<String, Option<Reading>>;

impl Macros<'_> {
    /// Nothing is known: a call is read as items only if the cell shows that it is.
    pub(crate) const NONE: Macros<'static> = Macros {
        revised: &BTreeMap::new(),
        known: &|_| Reading::Value,
    };

    /// Returns how to read a call that begins at `start`.
    pub(super) fn reading(&self, call: &Macro, start: usize, own: &Own) -> Reading {
        let path = path_of(call);
        let last = path.rsplit("::").next().unwrap_or_default();
        if let Some(reading) = self.revised.get(&start) {
            return *reading;
        }
        if statics::is_known(call) {
            return Reading::Items;
        }
        match own.get(last) {
            Some(reading) => reading.unwrap_or(Reading::Items),
            None if VALUES.contains(&last) => Reading::Value,
            None => (self.known)(&path),
        }
    }
}

/// Returns the path of the macro that is called.
pub(crate) fn path_of(call: &Macro) -> String {
    let names = call.path.segments.iter().map(|it| it.ident.to_string());
    names.collect::<Vec<_>>().join("::")
}

/// Returns the name of a macro that an item defines, and what its rules expand to, if all expand to the same.
pub(crate) fn defined(item: &Item) -> Option<(String, Option<Reading>)> {
    let Item::Macro(definition) = item else {
        return None;
    };
    let name = definition.ident.as_ref()?.to_string();
    let tokens: Vec<TokenTree> = definition.mac.tokens.clone().into_iter().collect();
    let groups = tokens.iter().filter_map(|token| match token {
        TokenTree::Group(group) => Some(group.stream()),
        _ => None,
    });
    let groups: Vec<TokenStream> = groups.collect();
    // A rule that calls its own macro shows nothing.
    let rules = groups.chunks_exact(2);
    let mut found = rules.filter(|rule| !calls(&rule[1], &name)).map(|rule| {
        let pattern = rule[0].to_string();
        first(rule[1].clone(), &pattern)
    });
    let reading = found.next().flatten();
    let is_clear = found.all(|other| other == reading);
    Some((name, reading.filter(|_| is_clear)))
}

/// Returns whether the expansion of a rule begins with a call of this macro.
fn calls(expansion: &TokenStream, name: &str) -> bool {
    let text = expansion.to_string();
    let text = text.trim_start_matches("$ crate :: ").trim_start();
    let after = text.strip_prefix(name);
    after.is_some_and(|after| after.trim_start().starts_with('!'))
}

/// Returns what the beginning of an expansion shows. `pattern` says what its variables stand for.
fn first(expansion: TokenStream, pattern: &str) -> Option<Reading> {
    let tokens: Vec<TokenTree> = expansion.into_iter().collect();
    let is_mark = |at: usize, mark: char| matches!(tokens.get(at), Some(TokenTree::Punct(it)) if it.as_char() == mark);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let next = tokens.get(at + 1);
        match (token, next) {
            (TokenTree::Punct(it), Some(TokenTree::Group(_))) if it.as_char() == '#' => at += 2,
            (TokenTree::Punct(it), Some(TokenTree::Group(repeated))) if it.as_char() == '$' => {
                if let Some(reading) = first(repeated.stream(), pattern) {
                    return Some(reading);
                }
                at += 2;
                // The separator, and how often.
                while !["*", "+", "?"].contains(&&*tokens.get(at)?.to_string()) {
                    at += 1;
                }
                at += 1;
            }
            (TokenTree::Punct(it), Some(TokenTree::Ident(variable))) if it.as_char() == '$' => {
                if is_mark(at + 2, '!') {
                    // The call of a macro that is passed in.
                    return None;
                }
                match fragment(pattern, &variable.to_string()) {
                    "item" => return Some(Reading::Items),
                    "vis" | "meta" | "lifetime" => at += 2,
                    "tt" | "" => return None,
                    _ => return Some(Reading::Value),
                }
            }
            (TokenTree::Ident(word), _) if is_mark(at + 1, '!') => {
                let word = word.to_string();
                return match () {
                    () if VALUES.contains(&&*word) => Some(Reading::Value),
                    () if word == "macro_rules" => Some(Reading::Items),
                    () => None,
                };
            }
            (TokenTree::Ident(word), next) => {
                let is_block = matches!(next, Some(TokenTree::Group(_))) && word != "pub";
                let is_item = ITEMS.contains(&&*word.to_string()) && !is_block;
                return Some(if is_item {
                    Reading::Items
                } else {
                    Reading::Value
                });
            }
            _ => return Some(Reading::Value),
        }
    }
    None
}

/// Returns the kind of a variable of a rule, such as `expr`.
fn fragment<'a>(pattern: &'a str, variable: &str) -> &'a str {
    let text = pattern.split("$ ").find_map(|part| {
        let after = part.strip_prefix(variable)?.trim_start();
        after.strip_prefix(':')
    });
    let text = text.unwrap_or_default().trim_start();
    let end = text.find(|c: char| c != '_' && !c.is_alphanumeric());
    &text[..end.unwrap_or(text.len())]
}

/// Returns where a macro or a call names macros: in front of each `!`, and where a macro is defined.
pub(crate) fn named(call: &Macro, defined: Option<&Ident>) -> Vec<(String, Range<usize>)> {
    let last = call.path.segments.last().map(|last| &last.ident);
    let outer = defined.or(last).into_iter();
    let mut found: Vec<_> = outer
        .map(|it| (it.to_string(), it.span().byte_range()))
        .collect();
    add_named(call.tokens.clone(), &mut found);
    found
}

fn add_named(tokens: TokenStream, found: &mut Vec<(String, Range<usize>)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_mark = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(it)) if it.as_char() == '!');
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) => {
                let is_defined = at >= 2
                    && is_mark(tokens.get(at - 1))
                    && tokens[at - 2].to_string() == "macro_rules";
                if is_defined || is_mark(tokens.get(at + 1)) && word != "macro_rules" {
                    found.push((word.to_string(), word.span().byte_range()));
                }
            }
            TokenTree::Group(group) => add_named(group.stream(), found),
            _ => {}
        }
    }
}

/// Returns whether source may define a static.
pub(crate) fn mentions_static(tokens: TokenStream) -> bool {
    let mut is_lifetime = false;
    tokens.into_iter().any(|token| {
        let was_quote = std::mem::take(&mut is_lifetime);
        match token {
            TokenTree::Ident(word) => word == "static" && !was_quote,
            TokenTree::Group(group) => mentions_static(group.stream()),
            TokenTree::Punct(mark) => {
                is_lifetime = mark.as_char() == '\'';
                false
            }
            TokenTree::Literal(_) => false,
        }
    })
}

/// Returns whether source that is passed to a macro contains a word with which items begin.
pub(crate) fn looks_like_items(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => {
            let word = word.to_string();
            word != "async" && word != "unsafe" && ITEMS.contains(&&*word)
        }
        TokenTree::Group(group) => looks_like_items(group.stream()),
        _ => false,
    })
}

/// The words with which an item begins.
#[rustfmt::skip]
const ITEMS: [&str; 16] = [
    "async", "const", "enum", "extern", "fn", "impl", "macro_rules", "mod", "pub", "static", "struct", "trait", "type",
    "union", "unsafe", "use",
];

/// Macros of Rust's library and of `taper` that are expressions.
#[rustfmt::skip]
const VALUES: [&str; 39] = [
    "assert", "assert_eq", "assert_ne", "cfg", "column", "compose", "concat", "dbg", "debug_assert", "debug_assert_eq",
    "debug_assert_ne", "describe", "env", "eprint", "eprintln", "file", "format", "format_args", "include_bytes",
    "include_str", "line", "matches", "module_path", "option_env", "panic", "pin", "print", "println", "ready", "seq",
    "show_value", "stringify", "timeit", "todo", "unimplemented", "unreachable", "vec", "write",
    "writeln",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(rules: &str) -> Option<Reading> {
        let item = syn::parse_str(&format!("macro_rules! m {{ {rules} }}")).expect("it is valid");
        defined(&item).expect("it defines one").1
    }

    #[test]
    fn the_rules_of_a_macro_show_what_it_makes() {
        for rules in [
            "($n:ident) => { struct $n; };",
            "($(#[$m:meta])* $v:vis $n:ident) => { $(#[$m])* $v struct $n; };",
            "($($n:ident),*) => { $(#[derive(Debug)] pub struct $n;)* };",
            "($i:item) => { $i };",
            "($n:ident) => { pub(crate) fn $n() {} }; ($n:ident, $m:ident) => { impl $n {} };",
            "() => { macro_rules! n { () => {} } };",
            "(@one $n:ident) => { const $n: u8 = 1; }; ($n:ident) => { m!(@one $n); };",
            "() => { use std::fmt; };",
        ] {
            assert_eq!(reading(rules), Some(Reading::Items), "{rules}");
        }
        for rules in [
            "($a:expr) => { $a * 2 };",
            "($a:expr) => { println!(\"{}\", $a) };",
            "() => { unsafe { f() } };",
            "($($x:expr),*) => {{ let mut v = Vec::new(); $(v.push($x);)* v }};",
            "($a:ident) => { let $a = 1; };",
            "($a:ident, $b:ident) => { std::mem::swap(&mut $a, &mut $b) };",
        ] {
            assert_eq!(reading(rules), Some(Reading::Value), "{rules}");
        }
        for rules in [
            "($($t:tt)*) => { $($t)* };",
            "() => { other!(); };",
            "($cb:ident) => { $cb! { Made } };",
            "(a) => { struct A; }; (b) => { 3 };",
            "() => {};",
        ] {
            assert_eq!(reading(rules), None, "{rules}");
        }
    }
}
