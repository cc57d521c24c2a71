//! MIME bundles.

use crate::erased::{Erased, outlined};
use serde_json::{Map, Value};

/// A value in several representations, keyed by MIME type (`"text/plain"`, `"image/svg+xml"`, …).
///
/// The front end shows the richest representation it supports. Always include `text/plain`: terminals,
/// screen readers and diffs need it.
///
/// ```
/// use taper::notebook::MimeBundle;
///
/// let bundle = MimeBundle::text("3 rows").with("text/html", "<b>3</b> rows");
/// assert_eq!(bundle.get("text/html"), Some("<b>3</b> rows"));
/// ```
#[derive(Default)]
pub struct MimeBundle {
    data: Erased<Map<String, Value>>,
}

outlined!(Clone Debug for MimeBundle { data });

impl PartialEq for MimeBundle {
    #[inline(never)]
    fn eq(&self, other: &Self) -> bool {
        self.data == other.data
    }
}

impl MimeBundle {
    /// Creates a bundle that contains only plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::plain(text.into())
    }

    /// Does the same as [`MimeBundle::text`], but is compiled once, here, and not in each cell.
    pub(super) fn plain(text: String) -> Self {
        Self::default().and("text/plain", text)
    }

    /// Adds or replaces the representation for one MIME type.
    pub fn with(self, mime_type: &str, content: impl Into<String>) -> Self {
        self.and(mime_type, content.into())
    }

    fn and(mut self, mime_type: &str, content: String) -> Self {
        self.data
            .insert(mime_type.to_owned(), Value::String(content));
        self
    }

    /// Returns the representation for one MIME type, if there is one.
    pub fn get(&self, mime_type: &str) -> Option<&str> {
        self.data.get(mime_type).and_then(Value::as_str)
    }

    pub(super) fn from(data: Map<String, Value>) -> Self {
        Self { data: data.into() }
    }

    pub(super) fn data(&self) -> &Map<String, Value> {
        &self.data
    }
}
