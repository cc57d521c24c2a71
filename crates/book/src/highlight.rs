//! Rust code as HTML: coloured, its names linked to the crate's documentation.
//!
//! It is done here and not in the browser: the links are in the page.

use super::api::{Context, Links};
use super::escape;
use super::lexer::{Kind, Token, tokens};

const KEYWORDS: [&str; 39] = [
    "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern",
    "false", "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub",
    "ref", "return", "self", "Self", "static", "struct", "super", "trait", "true", "type", "union",
    "unsafe", "use", "where", "while",
];

/// Behind these a name is defined, not used.
const DEFINING: [&str; 10] = [
    "fn", "struct", "enum", "trait", "type", "const", "static", "let", "mut", "mod",
];

/// The code of a cell.
pub fn cell(code: &str, links: &Links) -> String {
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

/// Code within prose: links, no colours.
pub fn inline(code: &str, links: &Links) -> String {
    let mut html = String::new();
    write_rust(code, false, links, &mut html);
    html
}

/// The names that a cell defines.
pub fn definitions(code: &str) -> Vec<String> {
    let tokens = tokens(code);
    let names = tokens.iter().filter(|token| !is_blank(token.kind));
    let mut names = names.map(|token| token.text).peekable();
    let mut defined = Vec::new();
    while let Some(name) = names.next() {
        if let Some(next) = names.peek()
            && DEFINING.contains(&name)
            && !KEYWORDS.contains(next)
        {
            defined.push((*next).to_owned());
        }
    }
    defined
}

/// evcxr's own commands, such as `:dep`, and what goes to the shell.
fn is_command(line: &str) -> bool {
    let mut characters = line.chars();
    matches!(characters.next(), Some(':' | '!'))
        && characters.next().is_some_and(char::is_alphabetic)
}

fn is_blank(kind: Kind) -> bool {
    matches!(kind, Kind::Space | Kind::Comment)
}

fn write_rust(code: &str, colour: bool, links: &Links, html: &mut String) {
    let tokens = tokens(code);
    for (at, token) in tokens.iter().enumerate() {
        let text = escape(token.text);
        let around = Around::of(&tokens, at);
        let class = if colour {
            class_of(token, &around)
        } else {
            None
        };
        let href = context(token, &around).and_then(|context| links.href(token.text, &context));
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

/// The tokens beside one, blanks left out.
struct Around<'a> {
    before: Vec<&'a str>,
    after: Vec<&'a str>,
}

impl<'a> Around<'a> {
    fn of(tokens: &[Token<'a>], at: usize) -> Self {
        let text = |token: &Token<'a>| (!is_blank(token.kind)).then_some(token.text);
        Around {
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

fn class_of(token: &Token, around: &Around) -> Option<&'static str> {
    match token.kind {
        Kind::Comment => Some("hljs-comment"),
        Kind::Number => Some("hljs-number"),
        Kind::Text => Some("hljs-string"),
        Kind::Lifetime => Some("hljs-symbol"),
        Kind::Name if matches!(token.text, "true" | "false") => Some("hljs-literal"),
        Kind::Name if KEYWORDS.contains(&token.text) => Some("hljs-keyword"),
        Kind::Name if is_macro(around) => Some("hljs-built_in"),
        _ => None,
    }
}

fn is_macro(around: &Around) -> bool {
    around.precedes(&["!"]) && !around.precedes(&["!", "="])
}

/// How a name is used, which tells where to look for it.
fn context<'a>(token: &Token, around: &Around<'a>) -> Option<Context<'a>> {
    let defines = around
        .before
        .first()
        .is_some_and(|before| DEFINING.contains(before));
    if token.kind != Kind::Name || KEYWORDS.contains(&token.text) || defines {
        return None;
    }
    let is_called = around.precedes(&["("]) || around.precedes(&[":", ":"]);
    if around.follows(&["."]) && !around.follows(&[".", "."]) {
        return is_called.then_some(Context::Method);
    }
    if is_macro(around) {
        return Some(Context::Macro);
    }
    if around.follows(&[":", ":"]) {
        return Some(Context::Within(
            around.before.get(2).copied().unwrap_or_default(),
        ));
    }
    let is_type = token.text.starts_with(char::is_uppercase);
    match (is_type, around.precedes(&["("])) {
        (true, _) => Some(Context::Type),
        (false, true) => Some(Context::Function),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_coloured_and_escaped() {
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
    fn a_cell_knows_what_it_defines() {
        let defined = definitions("fn f() {}\nlet mut net = 1;\nstruct Net;\nlet (a, b) = c;");
        assert_eq!(defined, ["f", "net", "Net", "("]);
    }

    #[test]
    fn half_code_does_not_disturb() {
        let html = cell("let s = \"unclosed", &Links::none());
        assert!(
            html.ends_with("<span class=\"hljs-string\">&quot;unclosed</span>"),
            "{html}"
        );
    }
}
