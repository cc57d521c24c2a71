//! Puts a cell between the items and the variables of earlier cells.
//!
//! The source contains the cell twice: with its items alone, and then, in a function, with the rest. What is left out
//! is overwritten with spaces, so that positions in each copy differ from those in the cell by one number.

use crate::syntax::Syntax;
use ra_ap_syntax::ast::{self, AstNode};
use std::fmt::Write;
use std::ops::Range;
use taper_engine::Surroundings;

/// The beginning of the function with the statements of a cell.
const FUNCTION: &str = "async fn taper_cell() {\n";

/// The source of a cell and of all that it can use.
#[derive(Debug)]
pub(crate) struct Source {
    pub(super) text: String,
    /// Where the copy with the items begins.
    items_at: usize,
    /// Where the copy with the statements begins.
    statements_at: usize,
    /// Where the items are in the cell.
    items: Vec<Range<usize>>,
}

impl Source {
    /// Returns the source of a cell. `surroundings` receives the copy of the cell with its items.
    pub(crate) fn new(cell: &str, surroundings: impl FnOnce(&str) -> Surroundings) -> Source {
        let items = items(cell);
        let (only_items, only_statements) = split(cell, &items);
        let Surroundings {
            items: earlier,
            variables,
        } = surroundings(&only_items);
        let mut text = earlier;
        text.push('\n');
        let items_at = text.len();
        text.push_str(&only_items);
        text.push('\n');
        text.push_str(FUNCTION);
        for variable in variables {
            let keyword = if variable.is_mutable {
                "let mut"
            } else {
                "let"
            };
            let _ = writeln!(text, "{keyword} {}: {};", variable.name, variable.kind);
        }
        text.push_str("{\n");
        let statements_at = text.len();
        text.push_str(&only_statements);
        text.push_str("\n};\n}\n");
        Source {
            text,
            items_at,
            statements_at,
            items,
        }
    }

    /// Returns where a byte of the cell is in the source.
    pub(super) fn offset(&self, cursor: usize) -> usize {
        let is_item = |item: &Range<usize>| item.start < cursor && cursor <= item.end;
        match self.items.iter().any(is_item) {
            true => self.items_at + cursor,
            false => self.statements_at + cursor,
        }
    }

    /// Returns where a byte of the source is in the cell, as seen from the byte `cursor` of the cell.
    pub(super) fn in_cell(&self, at: usize, cursor: usize) -> usize {
        (at + cursor).saturating_sub(self.offset(cursor))
    }
}

/// Returns where the items are in a cell, which need not be valid.
fn items(cell: &str) -> Vec<Range<usize>> {
    let syntax = Syntax::of(cell);
    let items = syntax.statements().filter_map(|statement| match statement {
        ast::Stmt::Item(ast::Item::MacroCall(_)) => None,
        ast::Stmt::Item(item) => Some(syntax.range(item.syntax().text_range())),
        _ => None,
    });
    items.collect()
}

/// Returns the cell with its items alone, and the cell without them.
fn split(cell: &str, items: &[Range<usize>]) -> (String, String) {
    let (mut inside, mut outside) = (String::new(), String::new());
    let mut end = 0;
    for item in items {
        blank(&cell[end..item.start], &mut inside);
        outside.push_str(&cell[end..item.start]);
        inside.push_str(&cell[item.clone()]);
        blank(&cell[item.clone()], &mut outside);
        end = item.end;
    }
    blank(&cell[end..], &mut inside);
    outside.push_str(&cell[end..]);
    (inside, outside)
}

/// Appends a space for each byte.
fn blank(text: &str, blanked: &mut String) {
    blanked.extend(std::iter::repeat_n(' ', text.len()));
}
