//! Rust code as HTML: highlighted, with its names linked to the crate's documentation.
//!
//! The tokens are those of the compiler's lexer, which reads incomplete code too. The classes are those of
//! highlight.js, which mdBook's themes colour. That library runs in the browser: an EPUB, a published page and a page
//! without scripts would have no colours.

use crate::api::{Context, Links};
use crate::html::escape;
use ra_ap_rustc_lexer::{LiteralKind, TokenKind};
use std::collections::BTreeSet;
use syn::visit::{self, Visit};
use taper_rust_cell::commands::without_commands;
use taper_rust_cell::tokens::{is_blank, tokens};

const KEYWORDS: [&str; 39] = [
    "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern",
    "false", "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub",
    "ref", "return", "self", "Self", "static", "struct", "super", "trait", "true", "type", "union",
    "unsafe", "use", "where", "while",
];

/// The keywords after which a name is defined.
const DEFINING: [&str; 10] = [
    "fn", "struct", "enum", "trait", "type", "const", "static", "let", "mut", "mod",
];

/// Highlights the code of a cell and links its names.
pub(crate) fn cell(code: &str, links: &Links) -> String {
    let mut html = String::with_capacity(code.len() * 3);
    let mut rust = String::new();
    for line in code.split_inclusive('\n') {
        if is_command(line) {
            write_rust(&std::mem::take(&mut rust), true, links, &mut html);
            let (command, end) = line.split_at(line.trim_end().len());
            html.push_str(&format!(
                "<span class=\"hljs-meta\">{}</span>{end}",
                escape(command)
            ));
        } else {
            rust.push_str(line);
        }
    }
    write_rust(&rust, true, links, &mut html);
    html.truncate(html.trim_end().len());
    html
}

/// Links the names of code within prose.
pub(crate) fn inline(code: &str, links: &Links) -> String {
    let mut html = String::new();
    write_rust(code, false, links, &mut html);
    html
}

/// Returns the names that the code of a cell defines, also those inside of its functions; none if it is not valid.
pub(crate) fn definitions(code: &str) -> BTreeSet<String> {
    let mut names = Names::default();
    let statements = taper_rust_cell::statements(&without_commands(code));
    for statement in statements.iter().flatten() {
        names.visit_stmt(statement);
    }
    names.0
}

#[derive(Default)]
struct Names(BTreeSet<String>);

impl Visit<'_> for Names {
    fn visit_item(&mut self, item: &syn::Item) {
        if !matches!(item, syn::Item::Use(_)) {
            self.0.extend(taper_rust_cell::defined(item));
        }
        visit::visit_item(self, item);
    }

    fn visit_signature(&mut self, function: &syn::Signature) {
        self.0.insert(function.ident.to_string());
        visit::visit_signature(self, function);
    }

    fn visit_pat_ident(&mut self, variable: &syn::PatIdent) {
        self.0.insert(variable.ident.to_string());
        visit::visit_pat_ident(self, variable);
    }
}

/// Returns whether a line is a command of the kernel, such as `:dep`, or of the shell.
fn is_command(line: &str) -> bool {
    let mut characters = line.chars();
    matches!(characters.next(), Some(':' | '!'))
        && characters.next().is_some_and(char::is_alphabetic)
}

/// A token of the code.
#[derive(Clone, Copy)]
struct Token<'a> {
    kind: TokenKind,
    text: &'a str,
}

impl Token<'_> {
    fn is_blank(&self) -> bool {
        is_blank(self.kind)
    }

    fn is_comment(&self) -> bool {
        matches!(
            self.kind,
            TokenKind::LineComment { .. } | TokenKind::BlockComment { .. }
        )
    }

    fn is_name(&self) -> bool {
        self.kind == TokenKind::Ident && !KEYWORDS.contains(&self.text)
    }
}

fn write_rust(code: &str, colour: bool, links: &Links, html: &mut String) {
    let tokens = tokens(code).map(|(_, kind, text)| Token { kind, text });
    let tokens: Vec<Token> = tokens.collect();
    for (at, token) in tokens.iter().enumerate() {
        let text = escape(token.text);
        let neighbours = Neighbours::of(&tokens, at);
        let class = colour.then(|| class_of(token, &neighbours)).flatten();
        let href = context(token, &neighbours).and_then(|context| links.href(token.text, &context));
        match (class, href) {
            (_, Some(href)) => {
                html.push_str(&format!(
                    "<a class=\"api\" href=\"{}\">{text}</a>",
                    escape(&href)
                ));
            }
            (Some(class), None) => html.push_str(&format!("<span class=\"{class}\">{text}</span>")),
            (None, None) => html.push_str(&text),
        }
    }
}

/// The texts of the tokens beside a token, without blanks and comments, the nearest first.
struct Neighbours<'a> {
    before: Vec<&'a str>,
    after: Vec<&'a str>,
}

impl<'a> Neighbours<'a> {
    fn of(tokens: &[Token<'a>], at: usize) -> Self {
        let text = |token: &Token<'a>| (!token.is_blank()).then_some(token.text);
        Neighbours {
            before: tokens[..at].iter().rev().filter_map(text).take(3).collect(),
            after: tokens[at + 1..].iter().filter_map(text).take(2).collect(),
        }
    }

    fn follows(&self, before: &[&str]) -> bool {
        self.before.starts_with(before)
    }

    fn precedes(&self, after: &[&str]) -> bool {
        self.after.starts_with(after)
    }
}

fn class_of(token: &Token, neighbours: &Neighbours) -> Option<&'static str> {
    match token.kind {
        _ if token.is_comment() => Some("hljs-comment"),
        TokenKind::Literal {
            kind: LiteralKind::Int { .. } | LiteralKind::Float { .. },
            ..
        } => Some("hljs-number"),
        TokenKind::Literal { .. } => Some("hljs-string"),
        TokenKind::Lifetime { .. } => Some("hljs-symbol"),
        TokenKind::Ident if matches!(token.text, "true" | "false") => Some("hljs-literal"),
        TokenKind::Ident if KEYWORDS.contains(&token.text) => Some("hljs-keyword"),
        TokenKind::Ident if is_macro(neighbours) => Some("hljs-built_in"),
        _ => None,
    }
}

fn is_macro(neighbours: &Neighbours) -> bool {
    neighbours.precedes(&["!"]) && !neighbours.precedes(&["!", "="])
}

/// Returns how a name is used, which determines where its documentation is looked up; `None` if it has no link.
fn context<'a>(token: &Token, neighbours: &Neighbours<'a>) -> Option<Context<'a>> {
    let defines = neighbours
        .before
        .first()
        .is_some_and(|before| DEFINING.contains(before));
    if !token.is_name() || defines {
        return None;
    }
    let is_called = neighbours.precedes(&["("]) || neighbours.precedes(&[":", ":"]);
    if neighbours.follows(&["."]) && !neighbours.follows(&[".", "."]) {
        return is_called.then_some(Context::Method);
    }
    if is_macro(neighbours) {
        return Some(Context::Macro);
    }
    if neighbours.follows(&[":", ":"]) {
        return Some(Context::Within(
            neighbours.before.get(2).copied().unwrap_or_default(),
        ));
    }
    let is_type = token.text.starts_with(char::is_uppercase);
    match (is_type, neighbours.precedes(&["("])) {
        (true, _) => Some(Context::Type),
        (false, true) => Some(Context::Function),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_highlighted_and_escaped() {
        let html = cell(
            ":dep taper = { path = \"..\" }\nlet x = vec![1, 2.5]; // <T>\n\"a\nb\"\n",
            &Links::none(),
        );
        assert_eq!(
            html,
            "<span class=\"hljs-meta\">:dep taper = { path = &quot;..&quot; }</span>\n\
             <span class=\"hljs-keyword\">let</span> x = <span class=\"hljs-built_in\">vec</span>!\
             [<span class=\"hljs-number\">1</span>, <span class=\"hljs-number\">2.5</span>]; \
             <span class=\"hljs-comment\">// &lt;T&gt;</span>\n\
             <span class=\"hljs-string\">&quot;a\nb&quot;</span>"
        );
    }

    #[test]
    fn definitions_are_found() {
        let defined = definitions("fn f() {}\nlet mut net = 1;\nstruct Net;\nlet (a, b) = c;");
        let expected = ["Net", "a", "b", "f", "net"];
        assert!(defined.iter().eq(&expected), "{defined:?}");
    }

    #[test]
    fn names_inside_of_functions_are_defined() {
        for (code, expected) in [
            (
                ":dep a\nlet (cpu, mut x): (Device, f64) = f();",
                &["cpu", "x"][..],
            ),
            (
                "if let Some(x) = cpu() { let [y, .., z @ 0..=9] = w else { cpu() }; }",
                &["x", "y", "z"],
            ),
            (
                "let nn::Batch { x, y: Labels(labels), .. } = cpu();",
                &["labels", "x"],
            ),
            (
                "impl M for N { fn run(&self, a: f32) -> f32 { (|b| a + b)(1.0) } }",
                &["a", "b", "run"],
            ),
            (
                "use taper::nn::Linear; let Kind::Linear = x else { y };",
                &[],
            ),
            ("let (a", &[]),
        ] {
            let defined = definitions(code);
            assert!(defined.iter().eq(expected), "{code}: {defined:?}");
        }
    }

    #[test]
    fn incomplete_code_is_highlighted() {
        let html = cell("let s = \"unclosed", &Links::none());
        assert!(
            html.ends_with("<span class=\"hljs-string\">&quot;unclosed</span>"),
            "{html}"
        );
    }
}
