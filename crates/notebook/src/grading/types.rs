//! Types and signatures as text: two that a test cannot tell apart have the same text.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{FnArg, GenericParam, ReturnType, Signature, Type, WherePredicate};

/// Crates whose modules are left out: `std::vec::Vec` is `Vec`. A submission must not define these names.
pub(super) const STANDARD: [&str; 3] = ["std", "core", "alloc"];

/// Returns the text of a type, without lifetimes and without modules of the standard library.
pub(super) fn text(syntax: &impl ToTokens) -> String {
    join(&tokens(syntax))
}

/// Returns the types of a signature; if it is a method's, `of` is the method's type. Parameters have no names, type parameters
/// are numbered, and their bounds are at the end.
pub(super) fn of_signature(signature: &Signature, of: Option<&Type>) -> String {
    let own = of.map(tokens).unwrap_or_default();
    let params = &signature.generics.params;
    let named: Vec<String> = params.iter().filter_map(name_of).collect();
    let written = |syntax: TokenStream| {
        let mut tokens = with_self(&tokens(&syntax), &own);
        for token in &mut tokens {
            if let Some(index) = named.iter().position(|name| name == token) {
                *token = format!("T{}", index + 1);
            }
        }
        join(&tokens)
    };
    let asynchronous = &signature.asyncness;
    let inputs = signature.inputs.iter().map(|input| match input {
        FnArg::Receiver(receiver) => &receiver.ty,
        FnArg::Typed(typed) => &typed.ty,
    });
    let output = match &signature.output {
        ReturnType::Type(_, ty) if matches!(&**ty, Type::Tuple(it) if it.elems.is_empty()) => None,
        output => Some(output),
    };
    let types = written(quote!(#asynchronous fn(#(#inputs),*) #output));
    let mut bounds: Vec<String> = bounds(signature).into_iter().map(written).collect();
    bounds.sort();
    bounds.dedup();
    match bounds[..] {
        [] => types,
        _ => format!("{types} where {}", bounds.join(", ")),
    }
}

fn name_of(param: &GenericParam) -> Option<String> {
    match param {
        GenericParam::Type(it) => Some(it.ident.to_string()),
        GenericParam::Const(it) => Some(it.ident.to_string()),
        GenericParam::Lifetime(_) => None,
    }
}

/// Returns the bounds of a signature, one by one: those of its parameters and those of its `where`.
fn bounds(signature: &Signature) -> Vec<TokenStream> {
    let params = signature.generics.params.iter();
    let of_params = params.flat_map(|param| match param {
        GenericParam::Type(it) => {
            let bounds = it.bounds.iter().map(|bound| (&it.ident, bound));
            bounds.map(|(of, bound)| quote!(#of: #bound)).collect()
        }
        GenericParam::Const(it) => {
            let (of, ty) = (&it.ident, &it.ty);
            vec![quote!(#of: #ty)]
        }
        GenericParam::Lifetime(_) => Vec::new(),
    });
    let clause = signature.generics.where_clause.iter();
    let predicates = clause.flat_map(|clause| &clause.predicates);
    let of_clause = predicates.flat_map(|predicate| match predicate {
        WherePredicate::Type(it) => {
            let bounds = it.bounds.iter().map(|bound| (&it.bounded_ty, bound));
            bounds.map(|(of, bound)| quote!(#of: #bound)).collect()
        }
        _ => Vec::new(),
    });
    of_params.chain(of_clause).collect()
}

fn tokens(syntax: &impl ToTokens) -> Vec<String> {
    let mut tokens = Vec::new();
    add(syntax.to_token_stream(), &mut tokens);
    without_modules(&tokens)
}

/// Adds tokens, with `::` and `->` as one, and without lifetimes.
fn add(stream: TokenStream, to: &mut Vec<String>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                to.push(open.to_owned());
                add(group.stream(), to);
                to.push(close.to_owned());
            }
            TokenTree::Punct(it) if it.as_char() == '\'' => {
                trees.next();
                trees.next_if(|it| it.to_string() == ",");
            }
            TokenTree::Punct(it) => {
                let is_joint = it.spacing() == Spacing::Joint && matches!(it.as_char(), ':' | '-');
                let second = trees.next_if(|next| is_joint && !next.to_string().starts_with('\''));
                let second = second.map(|it| it.to_string()).unwrap_or_default();
                to.push(format!("{it}{second}"));
            }
            tree => to.push(tree.to_string()),
        }
        if to.ends_with(&["<".to_owned(), ">".to_owned()]) {
            to.truncate(to.len() - 2);
        }
    }
}

/// Leaves the crates and modules out in the paths of what is in the standard library.
fn without_modules(tokens: &[String]) -> Vec<String> {
    let is_path = |at: usize| tokens.get(at).is_some_and(|it| it == "::");
    let mut kept: Vec<String> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_first = at == 0 || !is_path(at - 1);
        if is_first && STANDARD.contains(&&*tokens[at]) {
            while is_path(at + 1) && tokens.get(at + 2).is_some_and(|it| it != "<") {
                at += 2;
            }
        }
        kept.push(tokens[at].clone());
        at += 1;
    }
    kept
}

/// Writes `Self` for the type that a method belongs to.
fn with_self(tokens: &[String], own: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = tokens;
    while let Some((first, others)) = rest.split_first() {
        match rest.strip_prefix(own) {
            Some(behind) if !own.is_empty() => {
                kept.push("Self".to_owned());
                rest = behind;
            }
            _ => {
                kept.push(first.clone());
                rest = others;
            }
        }
    }
    kept
}

/// Joins tokens with the usual spaces.
fn join(tokens: &[String]) -> String {
    let is_word = |it: &str| it.starts_with(|c: char| c == '_' || c.is_alphanumeric());
    let is_wide = |it: &str| matches!(it, "->" | "+" | "=");
    let mut text = String::new();
    let mut before = "";
    for token in tokens {
        let between = is_wide(before) || is_wide(token) || matches!(before, "," | ";" | ":");
        if between || (is_word(before) && is_word(token)) {
            text.push(' ');
        }
        text.push_str(token);
        before = token;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::of_signature;

    fn text(signature: &str) -> String {
        let method: syn::ImplItemFn =
            syn::parse_str(&format!("{signature} {{}}")).expect("a function");
        let of = syn::parse_str("Stack<i32>").expect("a type");
        of_signature(&method.sig, Some(&of))
    }

    #[test]
    fn signatures_that_a_test_cannot_tell_apart_have_one_text() {
        for same in [
            [
                "fn f(values: &[f64]) -> f64",
                "pub const fn f(mut v: &[f64]) -> f64",
            ],
            ["fn f(&self) -> Self", "fn f(self: &Self) -> Stack<i32>"],
            ["fn f(self, x: i32)", "fn f(mut self, _: i32) -> ()"],
            [
                "fn f() -> Vec<String>",
                "fn f() -> std::vec::Vec<alloc::string::String>",
            ],
            [
                "fn f(a: &str) -> Cow<str>",
                "fn f<'a>(a: &'a str) -> std::borrow::Cow<'a, str>",
            ],
            [
                "fn f<T: PartialOrd + Copy>(x: &[T]) -> Option<T>",
                "fn f<N>(x: &[N]) -> Option<N> where N: Copy + std::cmp::PartialOrd",
            ],
        ] {
            assert_eq!(text(same[0]), text(same[1]));
        }
        assert_eq!(
            text("fn f(x: &[f64], y: [u8; 2]) -> f64"),
            "fn(&[f64], [u8; 2]) -> f64"
        );
        for other in [
            ["fn f() -> f64", "fn f<f64>() -> f64"],
            ["fn f() -> Vec<f64>", "fn f() -> own::Vec<f64>"],
            ["fn f() -> Vec<f64>", "fn f() -> own::std::vec::Vec<f64>"],
            ["fn f(&self)", "fn f(&mut self)"],
            ["fn f() -> f64", "async fn f() -> f64"],
            ["fn f<A, B>(a: A) -> B", "fn f<A, B>(a: A) -> A"],
        ] {
            assert_ne!(text(other[0]), text(other[1]));
        }
    }
}
