//! A file of a cell: a part of the cell, the rest blanked out, and what the engine adds.

use crate::cell::text;
use std::ops::Range;
use taper_rust_cell::position::position_of;

/// Returns the name of a cell's file in messages of the compiler and in panics; other files of the cell begin with it.
/// It depends on the source alone, so that the same cell is compiled once.
pub fn file_of_cell(source: &str) -> String {
    format!("cell-{}", &taper_host::digest::of(source.as_bytes())[..8])
}

/// A line and a column of a cell.
pub(crate) type Position = (usize, usize);

/// A file of a cell.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: String,
    /// The number of the evaluation whose cell this is.
    pub(crate) cell: u32,
    /// The number of lines of the cell.
    pub(crate) lines: usize,
    /// Where the cell ends, without spaces and empty lines.
    pub(crate) end: Position,
    /// What the engine has written into lines of the cell.
    insertions: Vec<Insertion>,
}

/// Text of the engine in a line of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Insertion {
    line: usize,
    column: usize,
    width: usize,
}

/// A change of a cell's source.
#[derive(Debug)]
pub(crate) struct Edit {
    range: Range<usize>,
    text: String,
}

impl Edit {
    /// Adds text.
    pub(crate) fn insert(at: usize, text: String) -> Edit {
        Edit {
            range: at..at,
            text,
        }
    }

    /// Replaces text by text that ends on the same line.
    pub(crate) fn replace(range: Range<usize>, text: String) -> Edit {
        Edit { range, text }
    }
}

impl File {
    /// Returns a file with these ranges of a cell, edited.
    pub(crate) fn new(
        name: String,
        cell: u32,
        source: &str,
        ranges: &[Range<usize>],
        mut edits: Vec<Edit>,
    ) -> File {
        // Where two begin at the same place, the first one stays first.
        edits.sort_by_key(|edit| edit.range.start);
        let mut file = File {
            name,
            text: String::with_capacity(source.len()),
            cell,
            lines: source.matches('\n').count() + 1,
            end: position_of(source, source.trim_end().len()),
            insertions: Vec::new(),
        };
        let mut from = 0;
        for edit in edits {
            file.copy(source, from..edit.range.start, ranges);
            file.add(&edit, &source[edit.range.clone()]);
            from = edit.range.end;
        }
        file.copy(source, from..source.len(), ranges);
        file
    }

    /// Appends a part of the source, with everything outside the ranges blanked out.
    fn copy(&mut self, source: &str, part: Range<usize>, ranges: &[Range<usize>]) {
        let common = ranges
            .iter()
            .map(|range| range.start.max(part.start)..range.end.min(part.end));
        let common = common.filter(|range| range.start < range.end);
        let inside: Vec<Range<usize>> = common
            .map(|range| range.start - part.start..range.end - part.start)
            .collect();
        self.text.push_str(&text::only(&source[part], &inside));
    }

    fn add(&mut self, edit: &Edit, old: &str) {
        let (line, column) = position_of(&self.text, self.text.len());
        self.text.push_str(&edit.text);
        let lines = old.matches('\n').count();
        if lines > 0 {
            // The rest of the last line stays in its place.
            let last = old.rsplit('\n').next().unwrap_or_default();
            self.text.push_str(&"\n".repeat(lines));
            self.text.push_str(&" ".repeat(last.chars().count()));
            return;
        }
        let (old, new) = (old.chars().count(), edit.text.chars().count());
        self.text.push_str(&" ".repeat(old.saturating_sub(new)));
        self.insertions.push(Insertion {
            line,
            column: column + old,
            width: new.saturating_sub(old),
        });
    }

    /// Returns the column of the cell that a column of this file comes from.
    pub(crate) fn column(&self, line: usize, column: usize) -> usize {
        let insertions = self.insertions.iter().filter(|it| it.line == line).rev();
        insertions.fold(column, |column, it| {
            if column >= it.column + it.width {
                column - it.width
            } else {
                column.min(it.column)
            }
        })
    }
}
