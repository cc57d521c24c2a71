//! Which cells of a notebook must run before one of them can: by their sources, because most of them have not run.

use crate::cell;
use std::collections::HashSet;
use syn::spanned::Spanned;
use syn::{Expr, Item, Stmt};
use taper_rust_cell::bindings;
use taper_rust_cell::imports;
use taper_rust_cell::keys::{self, Key};
use taper_rust_cell::words;

/// A cell of a notebook.
#[derive(Clone, Debug, Default)]
pub struct CellSource {
    /// Its Rust.
    pub source: String,
    /// The names of the packages that it adds.
    pub packages: Vec<String>,
    /// Whether it has run, and would do the same again.
    pub is_done: bool,
}

/// Returns the indices of the cells that must run so that the cell `index` can, and last that index. Cells that are done are
/// left out.
///
/// A cell is needed if it defines a name that is mentioned further on, or may change its value: by a statement that is
/// neither a `let`, nor a macro, nor the value at the end. It may be one cell too many.
///
/// ```
/// use taper_engine::{CellSource, needed};
///
/// let cell = |source: &str| CellSource { source: source.to_owned(), ..CellSource::default() };
/// let cells = ["let mut v = vec![1];", "let w = 2;", "v.push(3);", "v.len()"].map(cell);
/// assert_eq!(needed(&cells, 3), [0, 2, 3]);
/// ```
pub fn needed(cells: &[CellSource], index: usize) -> Vec<usize> {
    let Some(last) = cells.get(index) else {
        return Vec::new();
    };
    let mut wanted = mentioned(&last.source);
    let mut found = vec![index];
    for (index, cell) in cells[..index].iter().enumerate().rev() {
        let names = names(cell);
        let is_needed = names
            .defined
            .union(&names.changed)
            .any(|it| wanted.contains(it));
        // A name that it defines does not come from a cell above, even if that cell defines it too.
        if is_needed {
            wanted.retain(|name| !names.defined.contains(name));
        }
        if is_needed && !cell.is_done {
            wanted.extend(mentioned(&cell.source));
            found.push(index);
        }
    }
    found.reverse();
    found
}

/// Returns the names that a cell mentions and does not define before.
fn mentioned(source: &str) -> HashSet<String> {
    let Some(cell) = cell::parse(source, &cell::Macros::NONE) else {
        return words::of(source);
    };
    let of_items = cell.items.iter().flat_map(|item| &item.mentions);
    of_items.chain(&cell.mentions).cloned().collect()
}

/// What a cell does with names.
#[derive(Default)]
struct Names {
    defined: HashSet<String>,
    /// Names whose values it may change, and types to which it adds methods.
    changed: HashSet<String>,
}

fn names(cell: &CellSource) -> Names {
    let mut names = Names::default();
    names.defined.extend(cell.packages.iter().cloned());
    let statements = taper_rust_cell::statements(&cell.source);
    for statement in &statements.unwrap_or_default() {
        names.add(statement, &cell.source);
    }
    names
}

impl Names {
    fn add(&mut self, statement: &Stmt, source: &str) {
        match statement {
            Stmt::Item(Item::Use(import)) => {
                let imports = imports::of(import);
                self.defined.extend(imports.into_iter().map(|it| it.name));
            }
            Stmt::Item(item) => keys::of(item)
                .into_iter()
                .for_each(|(key, _)| self.add_key(key)),
            Stmt::Local(local) => self.defined.extend(bindings::names(&local.pat)),
            Stmt::Expr(expression, semicolon) => {
                if semicolon.is_some() || is_block(expression) {
                    let range = statement.span().byte_range();
                    self.changed.extend(words::of(&source[range]));
                }
            }
            Stmt::Macro(_) => {}
        }
    }

    fn add_key(&mut self, key: Key) {
        match key {
            Key::Type(name) | Key::Value(name) | Key::Macro(name) => {
                self.defined.insert(name);
            }
            Key::Implementation(_, of) | Key::Method(of, _) => {
                self.changed.extend(words::in_text(&of).map(str::to_owned));
            }
            Key::MacroCall(_) => {}
        }
    }
}

/// Returns whether an expression is a statement without a semicolon.
fn is_block(expression: &Expr) -> bool {
    matches!(
        expression,
        Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) | Expr::If(_) | Expr::Match(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what the last of these cells needs; those that begin with `#` are done.
    fn of(cells: &[&str]) -> Vec<usize> {
        let cells = cells.iter().map(|source| CellSource {
            source: source.trim_start_matches('#').to_owned(),
            packages: Vec::new(),
            is_done: source.starts_with('#'),
        });
        let cells: Vec<CellSource> = cells.collect();
        needed(&cells, cells.len() - 1)
    }

    #[test]
    fn cells_that_define_what_is_mentioned_are_needed() {
        assert_eq!(
            of(&["let a = 1;", "let b = 2;", "let c = a;", "c + 1"]),
            [0, 2, 3]
        );
        assert_eq!(of(&["fn f() {}", "struct S;", "f();"]), [0, 2]);
        assert_eq!(of(&["use std::fmt;", "let x = 1;", "fmt::Error"]), [0, 2]);
        assert_eq!(
            of(&["struct S;", "impl S { fn m(&self) {} }", "S.m()"]),
            [0, 1, 2]
        );
    }

    #[test]
    fn what_only_reads_is_not_needed() {
        assert_eq!(
            of(&["let a = 1;", "println!(\"{a}\");", "a + 2", "a"]),
            [0, 3]
        );
        assert_eq!(of(&["let n = net();", "train(&n);", "test(&n)"]), [0, 1, 2]);
    }

    #[test]
    fn what_is_done_is_left_out_with_what_it_needed() {
        assert_eq!(of(&["let a = 1;", "#let b = a;", "b"]), [2]);
        assert_eq!(of(&["#let a = 1;", "let b = a;", "b"]), [1, 2]);
    }

    #[test]
    fn a_later_definition_hides_an_earlier_one() {
        assert_eq!(of(&["let a = 1;", "let a = 2;", "a"]), [1, 2]);
        assert_eq!(of(&["let a = 1;", "let a = a + 1;", "a"]), [0, 1, 2]);
    }

    #[test]
    fn packages_are_names_too() {
        let cells = [
            CellSource {
                packages: vec!["rand".to_owned()],
                ..CellSource::default()
            },
            CellSource {
                source: "rand::random::<f32>()".to_owned(),
                ..CellSource::default()
            },
        ];
        assert_eq!(needed(&cells, 1), [0, 1]);
    }
}
