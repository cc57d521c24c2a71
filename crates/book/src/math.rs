//! Formulae, set when the book is built: KaTeX's markup, which needs its style sheet and its fonts and
//! no script.
//!
//! `katex-rs` is KaTeX in Rust: no JavaScript engine is compiled. MathML alone would do without fonts,
//! but then each machine shows the formulae in what it has, which often is no font for mathematics.

use katex::{KatexContext, OutputFormat, Settings, render_to_string};
use std::sync::LazyLock;

/// The formula as HTML, beside it MathML for those who hear it; an error says what KaTeX could not read.
pub fn to_html(formula: &str, display: bool) -> Result<String, String> {
    // The tables of symbols are made once.
    static CONTEXT: LazyLock<KatexContext> = LazyLock::new(KatexContext::default);
    let settings = Settings::builder()
        .display_mode(display)
        .output(OutputFormat::HtmlAndMathml)
        .build();
    let html = render_to_string(&CONTEXT, formula, &settings);
    html.map(|html| in_order(&html))
        .map_err(|error| error.to_string())
}

/// The same book from the same notebooks: `katex-rs` writes attributes in an order that changes.
fn in_order(html: &str) -> String {
    let mut parts = html.split('<');
    let mut ordered = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        let (inner, end) = tag.strip_suffix('/').map_or((tag, ""), |tag| (tag, "/"));
        let (name, attributes) = inner.split_once(' ').unwrap_or((inner, ""));
        let mut attributes: Vec<&str> = attributes.split_inclusive("\" ").map(str::trim).collect();
        attributes.sort_unstable();
        ordered += "<";
        ordered += name;
        for attribute in attributes {
            ordered += " ";
            ordered += attribute;
        }
        ordered += end;
        ordered += ">";
        ordered += text;
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_in_order() {
        assert_eq!(
            in_order("a<math y=\"1 2\" x=\"3\">b</math><path d=\"4\" c=\"5\"/>"),
            "a<math x=\"3\" y=\"1 2\">b</math><path c=\"5\" d=\"4\"/>"
        );
    }

    #[test]
    fn a_formula_is_always_set_alike() {
        let set = || to_html("\\sqrt{x} \\le \\sum_i \\frac{1}{2}", true);
        let first = set();
        assert!(first.is_ok_and(|first| (0..50).all(|_| set() == Ok(first.clone()))));
    }
}
