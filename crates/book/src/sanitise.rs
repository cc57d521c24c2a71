//! Reduces the HTML of a notebook to elements and attributes that neither run nor load anything.
//!
//! HTML of our own (code, figures, formulas) is not sanitised: a mark in the text replaces it while the
//! rest is sanitised.

use ammonia::{Builder, UrlRelative};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

/// The characters before and after the number of a fragment. They are in Unicode's private use area, so no text
/// needs them.
const MARKS: [char; 2] = ['\u{E000}', '\u{E001}'];

/// HTML of our own that is not sanitised.
#[derive(Debug, Default)]
pub(crate) struct Fragments(Vec<String>);

impl Fragments {
    /// Stores a fragment; returns the mark that takes its place until [`Self::restore`].
    pub(crate) fn put(&mut self, html: String) -> String {
        self.0.push(html);
        format!("{}{}{}", MARKS[0], self.0.len() - 1, MARKS[1])
    }

    /// Sanitises the HTML around the fragments, and puts these back.
    pub(crate) fn restore(&self, html: &str) -> String {
        let cleaned = clean(html);
        let mut restored = String::with_capacity(cleaned.len());
        let mut rest = cleaned.as_str();
        while let Some((before, marked)) = rest.split_once(MARKS[0]) {
            restored.push_str(before);
            let (number, after) = marked.split_once(MARKS[1]).unwrap_or((marked, ""));
            let fragment = number.parse().ok().and_then(|n: usize| self.0.get(n));
            restored.push_str(fragment.map_or("", String::as_str));
            rest = after;
        }
        restored.push_str(rest);
        restored
    }
}

/// Removes the characters of marks, so that no text can forge one.
pub(crate) fn without_marks(text: &str) -> Cow<'_, str> {
    if text.contains(MARKS) {
        Cow::Owned(text.replace(MARKS, ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Removes scripts, event handlers, styles that could cover the page, and images of other sites.
pub(crate) fn clean(html: &str) -> String {
    static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(cleaner);
    without_empty_images(&CLEANER.clean(html).to_string())
}

/// Removes the images whose address was removed.
fn without_empty_images(html: &str) -> String {
    let mut parts = html.split("<img");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('>') {
            Some((tag, rest)) if !tag.contains(" src=\"") => kept.push_str(rest),
            _ => {
                kept.push_str("<img");
                kept.push_str(part);
            }
        }
    }
    kept
}

fn cleaner() -> Builder<'static> {
    let mut builder = Builder::default();
    builder
        .add_generic_attributes(["id", "class", "style", "role", "aria-label"])
        .filter_style_properties(HashSet::from([
            "text-align",
            "vertical-align",
            "white-space",
            "font-weight",
            "font-style",
            "font-family",
            "width",
            "max-width",
            "margin-left",
            "padding-left",
        ]))
        .add_tags(["progress", "meter"])
        .add_tag_attributes("progress", ["value", "max"])
        .add_tag_attributes("meter", ["value", "min", "max"])
        .add_tag_attributes("details", ["open"])
        .link_rel(None)
        .url_schemes(HashSet::from(["http", "https", "mailto", "data"]))
        .url_relative(UrlRelative::PassThrough)
        .attribute_filter(|element, attribute, value| match (element, attribute) {
            ("img", "src") => value.starts_with("data:image/").then(|| value.into()),
            (_, "href" | "src" | "cite") if is_data(value) => None,
            _ => Some(value.into()),
        });
    builder
}

fn is_data(url: &str) -> bool {
    url.trim_start()
        .get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_handlers_and_styles_are_removed() {
        for bad in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "<a href=\"javascript:alert(1)\">a</a>",
            "<a href=\" data:text/html,<script>alert(1)</script>\">a</a>",
            "<svg><script>alert(1)</script></svg>",
            "<math><mtext><style><img src=x onerror=alert(1)></style></mtext></math>",
            "<iframe srcdoc=\"<script>alert(1)</script>\"></iframe>",
            "<style>@import 'https://example.com/x.css'</style>",
            "<form action=\"https://example.com\"><input autofocus onfocus=alert(1)></form>",
            "<p style=\"background:url(https://example.com/x)\">a</p>",
            "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\"></noscript>",
        ] {
            let html = clean(bad);
            for part in [
                "alert",
                "javascript:",
                "onerror",
                "<script",
                "<style",
                "import",
                "url(",
            ] {
                assert!(
                    !html.contains(part) || html.contains("title=\"&lt;"),
                    "{bad} gave {html}"
                );
            }
        }
    }

    #[test]
    fn images_of_other_sites_are_removed() {
        assert_eq!(
            clean("a <img src=\"https://example.com/x.png\" alt=\"x > y\"> b"),
            "a  b"
        );
        let inline = "<img src=\"data:image/png;base64,AAAA\" alt=\"x\">";
        assert_eq!(clean(inline), inline);
    }

    #[test]
    fn tables_are_kept() {
        let table = "<table class=\"dataframe\"><thead><tr><th style=\"text-align:right\">a</th></tr></thead>\
                     <tbody><tr><td>1</td></tr></tbody></table>";
        assert_eq!(clean(table), table);
    }

    #[test]
    fn fragments_are_restored_and_cannot_be_forged() {
        let mut fragments = Fragments::default();
        let mark = fragments.put("<b onclick=\"ours\">x</b>".into());
        assert_eq!(
            fragments.restore(&format!("<i>{mark}</i>")),
            "<i><b onclick=\"ours\">x</b></i>"
        );
        assert_eq!(without_marks("a\u{E000}0\u{E001}b"), "a0b");
    }
}
