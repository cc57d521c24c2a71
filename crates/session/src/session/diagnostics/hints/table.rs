//! Hints by the compiler's code and a part of its text: sentences that are true of each error of the row.

use super::hint::{Hint, besides, quoted};
use super::tables::TABLES;
use crate::session::diagnostics::diagnostic::Diagnostic;

/// Returns the hint of the first row that fits.
pub(super) fn hint(diagnostic: &Diagnostic) -> Option<Hint> {
    let code = diagnostic.code.as_deref().unwrap_or_default();
    let mut rows = TABLES.errors.iter();
    let (_, part, text) = rows.find(|row| row.0 == code && says(diagnostic, &row.1))?;
    let has_edits = diagnostic.notes.iter().any(|note| !note.edits.is_empty());
    if part.is_empty() && has_edits {
        // The compiler's suggestion is better than a hint about all errors of this code.
        return None;
    }
    Some(besides(text.replace("{}", quoted(&diagnostic.message))))
}

fn says(diagnostic: &Diagnostic, text: &str) -> bool {
    let mut labels = diagnostic.labels.iter();
    let mut notes = diagnostic.notes.iter();
    diagnostic.message.contains(text)
        || labels.any(|label| label.text.contains(text))
        || notes.any(|note| note.message.contains(text))
}
