//! A value in several representations.

use serde_json::{Map, Value};

/// A value in several representations, keyed by MIME type (`"text/plain"`, `"image/svg+xml"`, …).
///
/// The front end shows the richest one it can. Always include `text/plain`: terminals, screen
/// readers and diffs read it.
///
/// ```
/// use taper::notebook::MimeBundle;
///
/// let bundle = MimeBundle::text("3 rows").with("text/html", "<b>3</b> rows");
/// assert_eq!(bundle.get("text/html"), Some("<b>3</b> rows"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MimeBundle {
    data: Map<String, Value>,
}

impl MimeBundle {
    /// A bundle whose only representation so far is plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and("text/plain", text.into())
    }

    /// Adds (or replaces) the representation for one MIME type.
    pub fn with(self, mime_type: &str, content: impl Into<String>) -> Self {
        self.and(mime_type, content.into())
    }

    fn and(mut self, mime_type: &str, content: String) -> Self {
        self.data
            .insert(mime_type.to_owned(), Value::String(content));
        self
    }

    /// The representation for one MIME type, if the bundle has it.
    pub fn get(&self, mime_type: &str) -> Option<&str> {
        self.data.get(mime_type).and_then(Value::as_str)
    }

    pub(super) fn data(&self) -> &Map<String, Value> {
        &self.data
    }
}
