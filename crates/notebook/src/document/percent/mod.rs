//! Notebooks as text: the percent format of jupytext, in which a comment `// %%` begins each cell of a `.rs` file.
//!
//! [`read`] makes a document of a text, [`write()`] a text of a document. What [`write()`] has written, [`read`] reads back with
//! the same cells: sources, types, metadata and ids. Outputs are not kept.
//!
//! - `header` has the metadata of the notebook, as YAML in comments before the first cell;
//! - `marker` the line that begins a cell, with its type, its title and its metadata;
//! - `lines` the lines of a cell: text and commands of the session are comments.

mod header;
mod lines;
mod marker;
#[cfg(test)]
mod tests;
mod yaml;

use super::error::Problem;
use marker::Marker;
pub(crate) use marker::is_left_out;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::path::Path;
use taper_evaluator::joined;

/// A document that was read.
pub(super) struct Script {
    pub(super) document: Value,
    /// The line of the file, from 1, with which the source of each cell begins.
    pub(super) lines: Vec<usize>,
}

/// Returns whether a file is a notebook in this format.
pub(crate) fn is_script(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("rs"))
}

/// Returns whether a text has cells.
pub(crate) fn has_cells(text: &str) -> bool {
    text.lines().any(|line| Marker::read(line).is_some())
}

/// Reads the text of a file.
pub(super) fn read(text: &str) -> Result<Script, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let unix;
    let text = match text.lines().next() != text.split('\n').next() {
        // Written on Windows.
        true => {
            unix = text.replace("\r\n", "\n");
            &unix
        }
        false => text,
    };
    let lines: Vec<&str> = text
        .strip_suffix('\n')
        .unwrap_or(text)
        .split('\n')
        .collect();
    let (header, start) = header::read(&lines)?;
    let mut cells = Cells::default();
    cells.document.extend(header.front_matter);
    cells.lines.extend(cells.document.iter().map(|_| 1));
    cells.read(&lines, start, header.metadata.is_some());
    if cells.document.is_empty() {
        return Err(Problem::new(
            "has no cells: a comment `// %%` begins each cell of a notebook in a Rust file",
            "Write `// %%` above each cell. A program with a `main` is run by `cargo run`.",
        ));
    }
    cells.name();
    Ok(Script {
        document: json!({
            "cells": cells.document,
            "metadata": header.metadata.unwrap_or_default(),
            "nbformat": 4,
            "nbformat_minor": 5,
        }),
        lines: cells.lines,
    })
}

#[derive(Default)]
struct Cells {
    document: Vec<Value>,
    lines: Vec<usize>,
}

impl Cells {
    /// Reads the cells from line `start` on. Lines before the first marker are a cell where the file has a header.
    fn read(&mut self, lines: &[&str], start: usize, has_header: bool) {
        let markers: Vec<(usize, Marker)> = { (start..).zip(&lines[start..]) }
            .filter_map(|(at, line)| Some((at, Marker::read(line)?)))
            .collect();
        let end = markers.first().map_or(lines.len(), |(at, _)| *at);
        let before = &lines[start..end];
        let is_blank = before.iter().all(|line| line.trim().is_empty());
        if !is_blank && (has_header || !markers.is_empty()) {
            self.add(Marker::default(), lines, start..end);
        }
        let ends = markers.iter().skip(1).map(|(at, _)| *at);
        let ends: Vec<usize> = ends.chain([lines.len()]).collect();
        for ((at, marker), end) in markers.into_iter().zip(ends) {
            self.add(marker, lines, at + 1..end);
        }
    }

    fn add(&mut self, marker: Marker, lines: &[&str], mut range: std::ops::Range<usize>) {
        // A blank line separates cells.
        let is_last = range.end == lines.len();
        if !is_last
            && lines[range.clone()]
                .last()
                .is_some_and(|line| line.trim().is_empty())
        {
            range.end -= 1;
        }
        let mut cell = marker.into_cell();
        let language = cell.language.take();
        // The command of a script is in the marker.
        self.lines
            .push(range.start + usize::from(language.is_none()));
        let source = match (cell.kind.as_str(), language) {
            ("code", None) => lines::code(&lines[range]),
            ("code", Some(magic)) => format!("{magic}\n{}", lines::text(&lines[range])),
            _ => lines::text(&lines[range]),
        };
        let mut document = json!({
            "cell_type": cell.kind, "metadata": cell.metadata, "source": source,
        });
        if let Some(id) = cell.id {
            document["id"] = id.into();
        }
        if cell.kind == "code" {
            document["execution_count"] = Value::Null;
            document["outputs"] = json!([]);
        }
        self.document.push(document);
    }

    /// Adds an id to each cell without one: the one that [`write()`] leaves out.
    fn name(&mut self) {
        let mut taken = HashSet::new();
        for cell in &mut self.document {
            let id = cell["id"].as_str().unwrap_or_default();
            if !is_id(id) || !taken.insert(id.to_owned()) {
                cell["id"] = Value::Null;
            }
        }
        for (position, cell) in self.document.iter_mut().enumerate() {
            if cell["id"].is_null() {
                let mut id = id_at(position);
                while !taken.insert(id.clone()) {
                    id.push('x');
                }
                cell["id"] = id.into();
            }
        }
    }
}

/// Returns the id of a cell that names none.
fn id_at(position: usize) -> String {
    format!("cell-{}", position + 1)
}

/// Returns whether the notebook format allows this id.
fn is_id(id: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    (1..=64).contains(&id.len()) && id.chars().all(is_allowed)
}

/// Returns the text of a document.
pub(crate) fn write(document: &Value) -> String {
    let no_cells = Vec::new();
    let cells = document["cells"].as_array().unwrap_or(&no_cells);
    let mut written = header::write(&document["metadata"]);
    for (position, cell) in cells.iter().enumerate() {
        written.push(String::new());
        let id = cell["id"].as_str().filter(|id| *id != id_at(position));
        let kind = cell["cell_type"].as_str().unwrap_or("code");
        let no_metadata = Map::new();
        let metadata = cell["metadata"].as_object().unwrap_or(&no_metadata);
        let source = joined(&cell["source"]);
        let script = (kind == "code").then(|| lines::script(&source)).flatten();
        let language = script.map(|(language, _)| language);
        written.push(Marker::write(kind, metadata, id, language));
        match (kind, script) {
            ("code", None) => written.extend(lines::from_code(&source)),
            (_, Some((_, body))) => written.extend(lines::from_text(body)),
            _ => written.extend(lines::from_text(&source)),
        }
    }
    written.join("\n") + "\n"
}
