//! Reading comma-separated values, as RFC 4180 describes them.

use super::column::{Column, Entries};
use crate::error::{Result, refuse};
use crate::input;
use std::collections::HashSet;

/// The fields that mark a missing entry, besides an empty one; spaces around them do not count.
const MISSING: [&str; 7] = ["NA", "N/A", "NaN", "nan", "null", "NULL", "None"];

/// Reads the columns of a table, and the number of its rows; `source` names the text in errors.
pub(super) fn parse(source: &str, text: &str) -> Result<(Vec<Column>, usize)> {
    if let Some(at) = text.find('\0') {
        refuse!(parse(source, format_args!("a zero byte at {at}"));
            "a text", "Check that it is a CSV file, and not damaged");
    }
    let mut lines = records(source, text.strip_prefix('\u{feff}').unwrap_or(text))?.into_iter();
    let Some((_, names)) = lines.next() else {
        refuse!(parse(source, "an empty text");
            "a first line with the names of the columns",
            "Write the names, separated by commas, above the rows");
    };
    let mut known = HashSet::new();
    if let Some(name) = names.iter().find(|name| !known.insert(name.as_str())) {
        refuse!(parse(source, format_args!("{:?} twice", input::shortened(name)));
            "unique names of columns", "Rename one of them in the first line");
    }
    let mut columns: Vec<Vec<Option<String>>> = vec![vec![]; names.len()];
    let mut rows = 0;
    for (line, fields) in lines {
        refuse!(if fields.len() != names.len(); parse(source, fields.len());
            ("{} fields in line {line}, as in the first line", names.len()),
            "Separate all fields by commas; put double quotes around a field with a comma in it");
        for (column, field) in columns.iter_mut().zip(fields) {
            let text = field.trim();
            let missing = text.is_empty() || MISSING.contains(&text);
            column.push((!missing).then_some(field));
        }
        rows += 1;
    }
    let columns = names.into_iter().zip(columns);
    let columns = columns.map(|(name, texts)| Column {
        name,
        entries: Entries::of(texts),
    });
    Ok((columns.collect(), rows))
}

/// Returns the fields of each record, with the number of the line where it begins. Empty lines are left
/// out.
fn records(source: &str, text: &str) -> Result<Vec<(usize, Vec<String>)>> {
    let (mut records, mut fields, mut field) = (vec![], vec![], String::new());
    let (mut line, mut begin) = (1, 1);
    // Whether the field began with a quote, and whether this quote is still open.
    let (mut quoted, mut open) = (false, false);
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        line += usize::from(char == '\n');
        match char {
            '"' if open && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' if open => open = false,
            '"' if field.is_empty() && !quoted => (quoted, open) = (true, true),
            ',' if !open => {
                fields.push(std::mem::take(&mut field));
                quoted = false;
            }
            '\r' if !open && chars.peek() == Some(&'\n') => {}
            // A file of an old Mac has no other ends of lines.
            '\n' | '\r' if !open => {
                line += usize::from(char == '\r');
                let empty = fields.is_empty() && field.is_empty() && !quoted;
                fields.push(std::mem::take(&mut field));
                match empty {
                    true => fields.clear(),
                    false => records.push((begin, std::mem::take(&mut fields))),
                }
                (quoted, begin) = (false, line);
            }
            char => field.push(char),
        }
    }
    refuse!(if open; parse(source, "the end of the text");
        "a closing quote for the field that begins in line {begin}",
        "Close the field with a double quote; write a quote within a field as two double quotes");
    if !fields.is_empty() || !field.is_empty() || quoted {
        fields.push(field);
        records.push((begin, fields));
    }
    Ok(records)
}
