//! How much a piece of source may compute, which decides how well it is compiled.
//!
//! Well compiled code takes longer to compile. Most cells call what a package has compiled already, and gain nothing.
//! A loop gains much, and a tight loop most of all.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// How much a piece of source may compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Work {
    /// It has no loop.
    #[default]
    Little,
    /// It has a loop, a closure, which others may call in a loop, or a method that contains one.
    Loops,
    /// It has a tight loop: a loop that calls nothing, so all of its work is in the cell.
    TightLoops,
}

/// Methods that are compiled with the cell and go through all elements.
const LOOPING: [&str; 16] = [
    "chars",
    "collect",
    "contains",
    "dedup",
    "extend",
    "into_iter",
    "iter",
    "iter_mut",
    "lines",
    "product",
    "retain",
    "sort",
    "sort_unstable",
    "split",
    "sum",
    "windows",
];

/// Words after which parentheses are not a call.
const KEYWORDS: [&str; 11] = [
    "as", "else", "for", "if", "in", "let", "match", "mut", "return", "while", "ref",
];

/// Returns how much a piece of source may compute.
pub(crate) fn of(source: &str) -> Work {
    source.parse().map_or(Work::Little, of_tokens)
}

fn of_tokens(tokens: TokenStream) -> Work {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let at = |index: usize| match &tokens[index] {
        TokenTree::Group(group) => of_tokens(group.stream()),
        TokenTree::Ident(word) => of_word(&word.to_string(), &tokens[index + 1..]),
        TokenTree::Punct(mark) => of_mark(mark.as_char(), &tokens[..index], tokens.get(index + 1)),
        TokenTree::Literal(_) => Work::Little,
    };
    (0..tokens.len()).map(at).max().unwrap_or_default()
}

/// Returns the work of the loop that a word begins.
fn of_word(word: &str, after: &[TokenTree]) -> Work {
    if !matches!(word, "for" | "while" | "loop") {
        return Work::Little;
    }
    let is_body = |token: &TokenTree| matches!(token, TokenTree::Group(it) if it.delimiter() == Delimiter::Brace);
    let Some(end) = after.iter().position(is_body) else {
        return Work::Little;
    };
    let is_in = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "in");
    match &after[end] {
        // `impl Layer for Net { … }`
        _ if word == "for" && !after[..end].iter().any(is_in) => Work::Little,
        TokenTree::Group(body) if !calls(body.stream()) => Work::TightLoops,
        _ => Work::Loops,
    }
}

/// Returns the work of what a mark begins: of a closure, or of a method.
fn of_mark(mark: char, before: &[TokenTree], next: Option<&TokenTree>) -> Work {
    let begins_value = match before.last() {
        None => true,
        Some(TokenTree::Punct(mark)) => matches!(mark.as_char(), ',' | '=' | '(' | ';' | ':' | '>'),
        Some(TokenTree::Ident(word)) => word == "move" || word == "return",
        Some(_) => false,
    };
    let is_looping = |word: &String| LOOPING.contains(&word.as_str()) || word.starts_with("sort");
    match (mark, next) {
        ('|', _) if begins_value => Work::Loops,
        ('.', Some(TokenTree::Ident(word))) if is_looping(&word.to_string()) => Work::Loops,
        _ => Work::Little,
    }
}

/// Returns whether a piece of source calls a function, a method or a macro.
fn calls(tokens: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_call = |pair: &[TokenTree]| match pair {
        [TokenTree::Ident(word), TokenTree::Group(group)] => {
            group.delimiter() == Delimiter::Parenthesis
                && !KEYWORDS.contains(&word.to_string().as_str())
        }
        [TokenTree::Punct(mark), TokenTree::Group(group)] => match mark.as_char() {
            '!' => true,
            // `f::<T>(x)`, but not `a > (b)`, which is as rare as it is harmless.
            '>' => group.delimiter() == Delimiter::Parenthesis,
            _ => false,
        },
        _ => false,
    };
    let inside =
        |token: &TokenTree| matches!(token, TokenTree::Group(group) if calls(group.stream()));
    tokens.windows(2).any(is_call) || tokens.iter().any(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_without_a_loop_does_little() {
        for source in [
            "let y = &x + 1.0;",
            "impl Layer for Net { fn forward(&self, x: &Tensor) -> Tensor { self.0.forward(x) } }",
            "let f: Box<dyn for<'a> Fn(&'a str)> = g();",
            "if a || b | c { println!(\"{}\", a) }",
            "match x { 1 | 2 => 3, _ => 4 }",
            "not valid {",
        ] {
            assert_eq!(of(source), Work::Little, "{source}");
        }
    }

    #[test]
    fn loops_closures_and_methods_with_a_loop_are_found_also_in_macros() {
        for source in [
            "for batch in &data { step(batch); }",
            "while let Some(x) = next() { println!(\"{x}\"); }",
            "v.iter().sum::<f64>()",
            "let f = move |x| x + 1;",
            "g(|| 1)",
            "println!(\"{}\", v.into_iter().map(h).max());",
            "v.sort_by_key(f);",
        ] {
            assert_eq!(of(source), Work::Loops, "{source}");
        }
    }

    #[test]
    fn a_loop_that_calls_nothing_is_tight() {
        for source in [
            "for i in 0..n { for j in 0..n { s += a[i * n + j] * (b[j] - 1.0); } f(s); }",
            "while m < sieve.len() { sieve[m] = false; m += p; }",
            "fn f() { loop { if (n) > 3 { break } n += 1; } }",
        ] {
            assert_eq!(of(source), Work::TightLoops, "{source}");
        }
    }
}
