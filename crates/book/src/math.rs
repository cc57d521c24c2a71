//! Formulas, rendered when the book is built: KaTeX's markup needs a style sheet and fonts, but no script.
//!
//! `katex-rs` is KaTeX in Rust, so no JavaScript engine is compiled. MathML alone needs no fonts, but many machines have
//! no font for mathematics: only pages that are single files use it.

use katex::macro_expander::MacroMap;
use katex::macros::MacroDefinition;
use katex::{KatexContext, OutputFormat, Settings, render_to_string};
use std::sync::LazyLock;

/// Renders a formula as HTML, with MathML for screen readers, or as MathML alone; the error is KaTeX's message.
pub(crate) fn to_html(formula: &str, display: bool, is_alone: bool) -> Result<String, String> {
    // Created once, because it contains the tables of symbols.
    static CONTEXT: LazyLock<KatexContext> = LazyLock::new(KatexContext::default);
    let settings = Settings::builder()
        .display_mode(display)
        .macros(macros())
        .output(match is_alone {
            true => OutputFormat::Mathml,
            false => OutputFormat::HtmlAndMathml,
        })
        .build();
    let html = render_to_string(&CONTEXT, formula, &settings);
    html.map(|html| sort_attributes(&html))
        .map_err(|error| error.to_string())
}

/// KaTeX's own `\bmod` puts letters into an operator, which MathML does not allow.
fn macros() -> MacroMap {
    let modulo = MacroDefinition::StaticStr("\\,\\operatorname{mod}\\,");
    MacroMap::from_iter([("\\bmod".to_owned(), modulo)])
}

/// Sorts attributes, which `katex-rs` writes in random order, so that the same notebooks produce the same book.
fn sort_attributes(html: &str) -> String {
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
    fn attributes_are_sorted() {
        assert_eq!(
            sort_attributes("a<math y=\"1 2\" x=\"3\">b</math><path d=\"4\" c=\"5\"/>"),
            "a<math x=\"3\" y=\"1 2\">b</math><path c=\"5\" d=\"4\"/>"
        );
    }

    #[test]
    fn a_remainder_is_valid_mathml() {
        let html = to_html("a \\bmod 53", false, true).expect("a formula");
        let operators = html
            .split("<mo")
            .skip(1)
            .filter(|it| it.contains("<mrow><mi"));
        assert_eq!(operators.count(), 0, "{html}");
        assert!(html.contains(">mod</mi>"), "{html}");
    }

    #[test]
    fn rendering_is_deterministic() {
        let set = || to_html("\\sqrt{x} \\le \\sum_i \\frac{1}{2}", true, false);
        let first = set();
        assert!(first.is_ok_and(|first| (0..50).all(|_| set() == Ok(first.clone()))));
    }
}
