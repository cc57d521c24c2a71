//! HTML that several modules write.

use serde_json::Value;

/// Escapes a text for the content of an element, or for the value of an attribute in double quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Returns an element with data for the scripts of a page.
pub(crate) fn data(value: &Value) -> String {
    // No text in it can end the element.
    let json = value.to_string().replace('<', "\\u003c");
    format!("<script type=\"application/json\">{json}</script>")
}

/// Encloses HTML in an element of this class.
pub(crate) fn div(class: &str, html: &str) -> String {
    format!("<div class=\"{class}\">{html}</div>\n")
}

/// Returns a figure with its label, such as `Figure 2.1.`, and its caption, which is HTML.
pub(crate) fn figure(content: &str, label: &str, caption: &str) -> String {
    format!(
        "<figure>\n{content}<figcaption>\
         <b class=\"figure-number\">{}</b> {caption}</figcaption>\n</figure>\n",
        escape(label)
    )
}
