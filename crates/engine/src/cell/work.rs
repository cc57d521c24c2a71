//! How much a piece of source may compute, which decides how well it is compiled.
//!
//! Well compiled code takes longer to compile. Most cells call what a package has compiled already, and gain nothing.
//! A loop within a loop gains much, and a tight loop most of all.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// How much a piece of source may compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Work {
    /// It has no loop.
    #[default]
    Little,
    /// It goes through elements once: a `for`, a closure, which others may call in a loop, or a method that contains a
    /// loop. A million elements take some hundredths of a second, however they are compiled.
    OneLoop,
    /// The loop is tight: it calls nothing, so all of its work is in the cell.
    OneTightLoop,
    /// It has a loop within a loop, a loop without a known end, or a loop and a large number.
    Loops,
    /// The inner loop of these, or the one without a known end, is tight.
    TightLoops,
}

impl Work {
    /// Returns the work of this piece of source if it may contain another one, or call it.
    pub(crate) fn around(self, inner: Work) -> Work {
        match (self, inner) {
            (Work::Little, _) => inner,
            (_, Work::OneLoop) => self.max(Work::Loops),
            (_, Work::OneTightLoop) => Work::TightLoops,
            _ => self.max(inner),
        }
    }

    /// Returns the work if the source may do it a large number of times.
    fn repeated(self) -> Work {
        Work::OneLoop.around(self)
    }
}

/// A loop with at least this many iterations is worth a longer compilation.
const LARGE: u64 = 200_000;

/// Methods that are compiled with the cell and go through all elements.
#[rustfmt::skip]
const LOOPING: [&str; 16] = [
    "chars", "collect", "contains", "dedup", "extend", "into_iter", "iter", "iter_mut", "lines", "product",
    "retain", "sort", "sort_unstable", "split", "sum", "windows",
];

/// Words after which parentheses are not a call.
const KEYWORDS: [&str; 11] = [
    "as", "else", "for", "if", "in", "let", "match", "mut", "return", "while", "ref",
];

/// Returns how much a piece of source may compute.
pub(crate) fn of(source: &str) -> Work {
    let Ok(tokens) = source.parse::<TokenStream>() else {
        return Work::Little;
    };
    let work = of_tokens(tokens.clone());
    match work > Work::Little && has_large_number(tokens) {
        true => work.repeated(),
        false => work,
    }
}

fn of_tokens(tokens: TokenStream) -> Work {
    of_slice(&tokens.into_iter().collect::<Vec<TokenTree>>())
}

fn of_slice(tokens: &[TokenTree]) -> Work {
    let at = |index: usize| match &tokens[index] {
        TokenTree::Group(group) => of_tokens(group.stream()),
        TokenTree::Ident(word) => of_word(&word.to_string(), &tokens[index + 1..]),
        TokenTree::Punct(mark) => of_mark(mark.as_char(), &tokens[..index], &tokens[index + 1..]),
        TokenTree::Literal(_) => Work::Little,
    };
    (0..tokens.len()).map(at).max().unwrap_or_default()
}

/// Returns the work of the loop that a word begins.
fn of_word(word: &str, after: &[TokenTree]) -> Work {
    let is_body = |token: &&TokenTree| matches!(token, TokenTree::Group(it) if it.delimiter() == Delimiter::Brace);
    let is_in = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "in");
    if !matches!(word, "for" | "while" | "loop") {
        return Work::Little;
    }
    let head = after
        .split(|token| is_body(&token))
        .next()
        .unwrap_or_default();
    match after.iter().find(is_body) {
        // `impl Layer for Net { … }`
        _ if word == "for" && !head.iter().any(is_in) => Work::Little,
        Some(TokenTree::Group(body)) => {
            let is_tight = !calls(body.stream());
            let outer = match (word, is_tight) {
                ("for", false) => Work::OneLoop,
                ("for", true) => Work::OneTightLoop,
                (_, false) => Work::Loops,
                (_, true) => Work::TightLoops,
            };
            let inner = of_tokens(body.stream());
            match may_fail(body.stream()) {
                true => outer.max(inner),
                false => outer.around(inner),
            }
        }
        _ => Work::Little,
    }
}

/// Returns the work of what a mark begins: of a closure, or of a method.
fn of_mark(mark: char, before: &[TokenTree], after: &[TokenTree]) -> Work {
    let begins_value = match before.last() {
        None => true,
        Some(TokenTree::Punct(mark)) => matches!(mark.as_char(), ',' | '=' | '(' | ';' | ':' | '>'),
        Some(TokenTree::Ident(word)) => word == "move" || word == "return",
        Some(_) => false,
    };
    let is_looping = |word: &String| LOOPING.contains(&word.as_str()) || word.starts_with("sort");
    match (mark, after.first()) {
        ('|', _) if begins_value => Work::OneLoop.around(of_slice(closure(after))),
        ('.', Some(TokenTree::Ident(word))) if is_looping(&word.to_string()) => Work::OneLoop,
        _ => Work::Little,
    }
}

/// Returns the tokens of a closure after the bar that begins its parameters: its body ends with the statement or argument.
fn closure(after: &[TokenTree]) -> &[TokenTree] {
    let is_mark = |token: &TokenTree, marks: &[char]| matches!(token, TokenTree::Punct(it) if marks.contains(&it.as_char()));
    let start = after.iter().position(|token| is_mark(token, &['|']));
    let body = start.map_or(after, |start| &after[start + 1..]);
    let end = body.iter().position(|token| is_mark(token, &[',', ';']));
    &body[..end.unwrap_or(body.len())]
}

/// Returns whether a piece of source contains a large integer, such as the end of a range.
fn has_large_number(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => has_large_number(group.stream()),
        TokenTree::Literal(literal) => {
            let digits = literal.to_string().replace('_', "");
            let end = digits
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(digits.len());
            digits[..end]
                .parse::<u64>()
                .is_ok_and(|number| number >= LARGE)
        }
        _ => false,
    })
}

/// Returns whether a piece of source contains a `?`: then it loads or computes something beside which the loop around it
/// costs nothing, as in the loop over the batches of a training.
fn may_fail(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => may_fail(group.stream()),
        TokenTree::Punct(mark) => mark.as_char() == '?',
        _ => false,
    })
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
            "for epoch in 0..3 { for batch in &data { step(batch?); } }",
            "v.iter().sum::<f64>()",
            "let f = move |x| x + 1; for y in v.iter() { f(y) }",
            "g(|| 1)",
            "v.iter().map(|x| x + 1.0).filter(|x| x > 0.0).collect()",
            "println!(\"{}\", v.into_iter().map(h).max());",
            "v.sort_by_key(f);",
        ] {
            assert_eq!(of(source), Work::OneLoop, "{source}");
        }
    }

    #[test]
    fn loops_in_loops_and_loops_that_may_be_long_are_found() {
        for source in [
            "for epoch in 0..3 { for batch in &data { step(batch); } }",
            "for row in &rows { total += row.iter().sum::<f64>(); }",
            "rows.iter().map(|row| row.iter().sum()).collect()",
            "let f = |n, m| { for i in 0..n { g(i, m); } };",
            "while let Some(x) = next() { println!(\"{x}\"); }",
            "loop { if f() { break } }",
            "let n = 1_000_000; for i in 0..n { v.push(i); }",
            "(0..2000000u64).map(f).sum::<u64>()",
        ] {
            assert_eq!(of(source), Work::Loops, "{source}");
        }
        assert_eq!(Work::OneLoop.around(Work::OneLoop), Work::Loops);
        assert_eq!(Work::Little.around(Work::OneLoop), Work::OneLoop);
        assert_eq!(of("let n = 1_000_000;"), Work::Little);
    }

    #[test]
    fn a_loop_that_calls_nothing_is_tight() {
        for source in [
            "for i in 0..n { for j in 0..n { s += a[i * n + j] * (b[j] - 1.0); } f(s); }",
            "while m < sieve.len() { sieve[m] = false; m += p; }",
            "fn f() { loop { if (n) > 3 { break } n += 1; } }",
            "for i in 0..1_000_000 { s += i; }",
        ] {
            assert_eq!(of(source), Work::TightLoops, "{source}");
        }
        for source in [
            "for label in labels() { counts[label] += 1; }",
            "for i in 0..n { s += i; }",
        ] {
            assert_eq!(of(source), Work::OneTightLoop, "{source}");
        }
    }
}
