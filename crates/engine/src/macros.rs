//! Learns from rustc how calls of macros are read, and which calls of earlier cells a cell replaces.

use crate::cell::{Call, Parsed, Reading};
use crate::compile::Messages;
use crate::diagnostic::{Diagnostic, Span};
use crate::file::Position;
use crate::items::Items;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use taper_rust_cell::position::position_of;

/// Codes of errors about two definitions of the same.
const TWICE: [&str; 6] = ["E0119", "E0201", "E0252", "E0255", "E0428", "E0592"];

/// What rustc has said about the macros of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Revisions {
    /// How calls are read, by where they begin, where that is not as expected.
    pub(crate) readings: BTreeMap<usize, Reading>,
    /// Calls of earlier cells that make what this cell makes again: the names of their files, and where they begin.
    pub(crate) replaced: BTreeSet<(String, usize)>,
    /// What both make.
    pub(crate) names: BTreeSet<String>,
}

impl Revisions {
    /// Learns from the errors of an attempt. Returns whether another attempt reads the cell in another way.
    pub(crate) fn learn(
        &mut self,
        messages: &Messages,
        source: &Source,
        cell: &Parsed,
        text: &str,
        items: &Items,
    ) -> bool {
        let before = self.clone();
        let number = source.files.last().map(|file| file.cell);
        for error in messages.errors() {
            let mut error = error.clone();
            source.locate(&mut error);
            if error.code.is_none() {
                self.learn_reading(&error, cell, text, number);
            } else if TWICE.iter().any(|code| error.has_code(code)) {
                self.learn_replaced(&error, items, number);
            }
        }
        *self != before
    }

    /// Reads a call in another way, because what it expands to is not what is expected at its place.
    fn learn_reading(
        &mut self,
        error: &Diagnostic,
        cell: &Parsed,
        source: &str,
        number: Option<u32>,
    ) {
        let places: Vec<Position> = places(error)
            .filter(|span| span.cell == number)
            .map(|span| (span.line_start, span.column_start))
            .collect();
        let is_about = |start: usize, end: usize| {
            let range = position_of(source, start)..position_of(source, end);
            places.iter().any(|place| range.contains(place))
        };
        for item in cell.items.iter().filter(|item| item.calls.is_some()) {
            if is_about(item.range.start, item.range.end) {
                self.readings.insert(item.range.start, Reading::Value);
            }
        }
        let is_value = |call: &&Call| cell.tail.as_ref() == Some(&call.range);
        for call in cell.calls.iter().filter(is_value) {
            if is_about(call.range.start, call.range.end) {
                self.readings.insert(call.range.start, Reading::Statement);
            }
        }
    }

    /// Removes a call of an earlier cell that makes the same as this cell.
    fn learn_replaced(&mut self, error: &Diagnostic, items: &Items, number: Option<u32>) {
        let is_own = |span: &Span| span.cell == number;
        if !places(error).any(is_own) {
            return;
        }
        let earlier = places(error).filter(|span| !is_own(span));
        let earlier = earlier.filter_map(|span| {
            let place = (span.line_start, span.column_start);
            items.call_at(span.cell?, place)
        });
        let earlier: Vec<(String, usize)> = earlier.collect();
        if !earlier.is_empty() {
            self.replaced.extend(earlier);
            self.names
                .extend(error.message.split('`').nth(1).map(str::to_owned));
        }
    }
}

/// Returns the places of an error, in the calls of macros also.
fn places(error: &Diagnostic) -> impl Iterator<Item = &Span> {
    let notes = error.children.iter().flat_map(|note| &note.spans);
    error.spans.iter().chain(notes).flat_map(|span| {
        std::iter::successors(Some(span), |inner| {
            inner.expansion.as_ref().map(|expansion| &expansion.span)
        })
    })
}
