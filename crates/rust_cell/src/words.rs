//! The names that a piece of source mentions.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::HashSet;

/// Returns all names in a piece of source, also those in the braces of a text such as `"{loss:.3}"`. A name may be
/// found that is not used: that of a field or of a method.
pub fn of(source: &str) -> HashSet<String> {
    let mut found = HashSet::new();
    match source.parse::<TokenStream>() {
        Ok(tokens) => add_tokens(tokens, &mut found),
        Err(_) => found.extend(in_text(source).map(str::to_owned)),
    }
    found
}

fn add_tokens(tokens: TokenStream, found: &mut HashSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => add_tokens(group.stream(), found),
            TokenTree::Ident(word) => {
                found.insert(word.to_string());
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let braces = text.split('{').skip(1);
                // Width and precision can be variables too: `{x:width$}`.
                let inside = braces.filter_map(|rest| rest.split('}').next());
                found.extend(inside.flat_map(in_text).map(str::to_owned));
            }
            TokenTree::Punct(_) => {}
        }
    }
}

/// Returns the variables that a text to format names in its braces.
pub fn in_format(text: &str) -> Vec<String> {
    let text = text.replace("{{", "");
    let inside = text
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split('}').next());
    let names = inside.flat_map(|inside| {
        let (name, format) = inside.split_once(':').unwrap_or((inside, ""));
        let widths = format.split(['.', '>', '<', '^', '+', '#']);
        let widths = widths.filter_map(|part| part.trim_start_matches('0').strip_suffix('$'));
        std::iter::once(name.trim()).chain(widths)
    });
    let is_name = |name: &&str| in_text(name).eq([*name]);
    names.filter(is_name).map(str::to_owned).collect()
}

/// Returns all words of a text.
pub fn in_text(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c != '_' && !c.is_alphanumeric());
    words.filter(|word| word.starts_with(|c: char| c == '_' || c.is_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_code_and_in_formatted_text_are_found() {
        let found = of("// a\nprintln!(\"{b:c$} d {{e}}\", f.g(|h| r#type));");
        for name in ["b", "c", "f", "g", "h", "r#type"] {
            assert!(found.contains(name), "{name}");
        }
        assert!(!found.contains("a") && !found.contains("d"));
        assert!(of("let a = (b").contains("b"), "also if it is not valid");
    }

    #[test]
    fn a_text_to_format_names_variables() {
        let found = in_format("{a} {b:?} {{c}} {:>d$} {e:.f$} {0:x}");
        assert_eq!(found, ["a", "b", "d", "e", "f"]);
    }
}
