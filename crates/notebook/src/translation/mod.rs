//! The course in another language.
//!
//! The source is the English notebooks and pages. For each of them `po/LANGUAGE` holds a catalogue of gettext, with
//! one entry for each paragraph, list item, table row and comment (`units.rs`). [`Edition`] replaces those that the
//! catalogue translates; the others stay English. Code, outputs and messages are never translated, so nothing has to
//! run twice.
//!
//! Links to headings are rewritten: a translated heading has another anchor.

mod edition;
mod units;

#[cfg(test)]
mod tests;

pub use edition::Edition;
pub use units::{Unit, has_words, notebook_units, page_units};
