//! Reading lines of JSON objects.

use super::column::{Column, Entries};
use crate::error::{Result, problem, refuse};
use crate::input::shortened;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A table may have this many entries, or one for each byte of its text.
const ENTRIES: usize = 1_000_000;

/// Reads the columns of a table, in the order of their names, and the number of its rows; `source` names the text in
/// errors.
pub(super) fn parse(source: &str, text: &str) -> Result<(Vec<Column>, usize)> {
    let mut columns: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate();
    let mut rows = 0;
    for (i, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let object: Map<String, Value> = serde_json::from_str(line).map_err(|_| {
            problem!(parse(source, format_args!("{:?}", shortened(line)));
                ("a JSON object in line {}", i + 1),
                "Write each object into one line: {{\"x\": 1.5, \"name\": \"oak\"}}")
        })?;
        for (name, value) in object {
            let column = columns.entry(name).or_default();
            column.resize(rows, None);
            column.push(entry(value));
        }
        rows += 1;
        // Lines with few names each, none the same, would need far more memory than their text.
        refuse!(if columns.len().saturating_mul(rows) > ENTRIES.max(text.len());
            parse(source, format_args!("{} names in {rows} lines", columns.len()));
            "objects with the same names", "Put what differs from line to line into a list");
    }
    let columns = columns.into_iter().map(|(name, mut texts)| {
        texts.resize(rows, None);
        let entries = Entries::of(texts);
        Column { name, entries }
    });
    Ok((columns.collect(), rows))
}

fn entry(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}
