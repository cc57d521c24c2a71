//! HTML as XHTML: the pages of the book, as mdBook writes them, for readers that parse XML.

use crate::html::escape;

/// The elements without content, which HTML does not close.
const VOID: [&str; 6] = ["br", "col", "hr", "img", "input", "wbr"];
/// The elements that only a browser uses.
const LEFT_OUT: [&str; 5] = ["script", "button", "nav", "footer", "template"];
/// The classes of elements that only a browser uses: what KaTeX writes beside MathML, and links to files of the site.
const LEFT_OUT_CLASSES: [&str; 3] = ["katex-html", "actions", "digit-reader"];

/// Returns the XHTML of a page's content. `address` returns the new address of a link or an image; without one, a link
/// becomes plain text.
pub(super) fn convert(html: &str, address: &mut dyn FnMut(&str) -> Option<String>) -> String {
    let mut converter = Converter {
        out: String::with_capacity(html.len()),
        open: Vec::new(),
        left_out: None,
    };
    let html: String = html.chars().map(allowed).collect();
    let mut rest = html.as_str();
    while let Some(at) = rest.find('<') {
        converter.text(&rest[..at]);
        rest = converter.tag(&rest[at..], address);
    }
    converter.text(rest);
    converter.out
}

/// Returns the character, or a replacement for a control character, which XML does not allow.
fn allowed(letter: char) -> char {
    let is_control = letter < ' ' && !matches!(letter, '\t' | '\n' | '\r');
    match is_control || matches!(letter, '\u{FFFE}' | '\u{FFFF}') {
        true => char::REPLACEMENT_CHARACTER,
        false => letter,
    }
}

struct Converter {
    out: String,
    /// The open elements, each with whether it is written.
    open: Vec<(String, bool)>,
    /// How many elements were open at the start of an element that is left out.
    left_out: Option<usize>,
}

impl Converter {
    fn text(&mut self, text: &str) {
        if self.left_out.is_none() {
            self.out.push_str(&with_xml_entities(text));
        }
    }

    /// Writes the tag at the beginning of `html`; returns what follows it.
    fn tag<'h>(
        &mut self,
        html: &'h str,
        address: &mut dyn FnMut(&str) -> Option<String>,
    ) -> &'h str {
        if let Some(comment) = html.strip_prefix("<!--") {
            return comment.split_once("-->").map_or("", |(_, rest)| rest);
        }
        let end = end_of_tag(html);
        let (tag, rest) = (&html[1..end], html.get(end + 1..).unwrap_or_default());
        if let Some(name) = tag.strip_prefix('/') {
            self.close(name.trim());
            return rest;
        }
        let tag = tag.trim_end_matches('/');
        let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let name = name.to_ascii_lowercase();
        let attributes = attributes_of(attributes);
        let class = attributes.iter().find(|(name, _)| name == "class");
        let is_left_out = LEFT_OUT.contains(&name.as_str())
            || class.is_some_and(|(_, class)| {
                class
                    .split(' ')
                    .any(|class| LEFT_OUT_CLASSES.contains(&class))
            });
        let is_written =
            self.left_out.is_none() && !is_left_out && self.open_tag(&name, &attributes, address);
        if VOID.contains(&name.as_str()) {
            if is_written {
                self.out.push_str("/>");
            }
            return rest;
        }
        if is_written {
            self.out.push('>');
        }
        if is_left_out && self.left_out.is_none() {
            self.left_out = Some(self.open.len());
        }
        let is_raw = matches!(name.as_str(), "script" | "style");
        self.open.push((name, is_written));
        // A `<` in a program begins no tag.
        match is_raw {
            true => rest.find("</").map_or("", |at| &rest[at..]),
            false => rest,
        }
    }

    /// Writes the beginning of an element, without its end; returns whether it is an element of the EPUB.
    fn open_tag(
        &mut self,
        name: &str,
        attributes: &[(String, String)],
        address: &mut dyn FnMut(&str) -> Option<String>,
    ) -> bool {
        let mut written = format!("<{name}");
        if name == "math" {
            written += " xmlns=\"http://www.w3.org/1998/Math/MathML\"";
        }
        for (attribute, value) in attributes {
            let value = match attribute.as_str() {
                "xmlns" | "loading" | "download" => continue,
                "href" | "src" => match address(value) {
                    Some(new) => new,
                    None => return false,
                },
                _ => value.clone(),
            };
            written += &format!(" {attribute}=\"{}\"", escape(&value));
        }
        self.out.push_str(&written);
        true
    }

    fn close(&mut self, name: &str) {
        let Some(at) = self.open.iter().rposition(|(open, _)| open == name) else {
            return;
        };
        // Elements whose end is left out in HTML end here too.
        for (open, is_written) in self.open.drain(at..).rev() {
            if is_written {
                self.out.push_str(&format!("</{open}>"));
            }
        }
        if self.left_out.is_some_and(|depth| self.open.len() <= depth) {
            self.left_out = None;
        }
    }
}

/// Returns where the tag at the beginning of the text ends: a `>` in quotes is part of a value.
fn end_of_tag(html: &str) -> usize {
    let mut quote = None;
    for (at, letter) in html.char_indices() {
        match (letter, quote) {
            ('"' | '\'', None) => quote = Some(letter),
            (_, Some(open)) if letter == open => quote = None,
            ('>', None) => return at,
            _ => {}
        }
    }
    html.len()
}

/// Returns the attributes of a tag with their values, each once.
fn attributes_of(mut text: &str) -> Vec<(String, String)> {
    let mut attributes: Vec<(String, String)> = Vec::new();
    loop {
        text = text.trim_start();
        let end = text
            .find(|c: char| c == '=' || c.is_whitespace())
            .unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        if name.is_empty() {
            return attributes;
        }
        let value;
        (value, text) = match rest.strip_prefix('=') {
            // Without a value it is set.
            None => (name, rest),
            Some(rest) => match rest.chars().next() {
                Some(quote @ ('"' | '\'')) => {
                    rest[1..].split_once(quote).unwrap_or((&rest[1..], ""))
                }
                _ => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
            },
        };
        let name = name.to_owned();
        if !attributes.iter().any(|(known, _)| *known == name) {
            attributes.push((name, unescape(value)));
        }
    }
}

/// Returns the text of an attribute's value.
fn unescape(value: &str) -> String {
    let entities = [
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&nbsp;", "\u{a0}"),
    ];
    let text = entities
        .iter()
        .fold(value.to_owned(), |text, (entity, letter)| {
            text.replace(entity, letter)
        });
    text.replace("&amp;", "&")
}

/// Writes the entities that XML does not know as letters.
fn with_xml_entities(text: &str) -> String {
    let known = [
        ("&nbsp;", "\u{a0}"),
        ("&hellip;", "…"),
        ("&ndash;", "–"),
        ("&mdash;", "—"),
        ("&times;", "×"),
    ];
    known
        .iter()
        .fold(text.to_owned(), |text, (entity, letter)| {
            text.replace(entity, letter)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xhtml(html: &str) -> String {
        convert(html, &mut |address| {
            (!address.starts_with("api/")).then(|| address.to_owned())
        })
    }

    #[test]
    fn pages_become_xml() {
        for (html, expected) in [
            ("<p>\u{2}</p>", "<p>\u{fffd}</p>"),
            ("<p>a<br>b&nbsp;&lt;</p>", "<p>a<br/>b\u{a0}&lt;</p>"),
            (
                "<img src=\"a.svg\" alt=\"x > y\" loading=lazy>",
                "<img src=\"a.svg\" alt=\"x &gt; y\"/>",
            ),
            (
                "<details open><summary>s</summary></details>",
                "<details open=\"open\"><summary>s</summary></details>",
            ),
            ("<ul><li>a<li>b</ul>", "<ul><li>a<li>b</li></li></ul>"),
            (
                "<p>a</p><!-- <b> --><script>if (a<b) {}</script>c",
                "<p>a</p>c",
            ),
            ("<a class=\"api\" href=\"api/x.html\">x</a>", "x"),
            (
                "<span class=\"katex\"><math><mi>x</mi></math><span class=\"katex-html\"><span>x</span></span></span>",
                "<span class=\"katex\"><math xmlns=\"http://www.w3.org/1998/Math/MathML\"><mi>x</mi></math></span>",
            ),
        ] {
            assert_eq!(xhtml(html), expected);
        }
    }
}
