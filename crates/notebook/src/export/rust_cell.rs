//! Parses the Rust of one cell: the items that it defines and the expression whose value it shows.

use std::collections::BTreeSet;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::{Expr, Ident, Item, ItemFn, Stmt, UseTree};
use taper_evaluator::commands::{Cell as Commands, blank_out, without_percent};

/// The line that is put before the source of the cell for the parser.
const OPEN: &str = "fn cell() {\n";

/// A parsed cell.
pub(super) struct RustCell {
    /// The cell with its commands blanked out.
    source: String,
    statements: usize,
    /// The items that it defines or imports.
    pub(super) names: BTreeSet<String>,
    /// The range of its last expression, if no `;` follows.
    value: Option<Range<usize>>,
}

impl RustCell {
    /// Parses the source of a cell. An error also contains the source with its commands blanked out.
    pub(super) fn parse(cell: &str) -> Result<RustCell, (String, syn::Error)> {
        let source = without_commands(cell);
        let statements = match parse(&source) {
            Ok(statements) => statements,
            Err(error) => return Err((source, error)),
        };
        let value = statements.last().filter(|last| has_value(last));
        Ok(RustCell {
            source,
            statements: statements.len(),
            names: statements.iter().flat_map(names).collect(),
            value: value.map(|value| {
                let range = value.span().byte_range();
                range.start - OPEN.len()..range.end - OPEN.len()
            }),
        })
    }

    /// Returns the line of the cell at which the parser failed, from 1.
    pub(super) fn line_of(error: &syn::Error) -> usize {
        error.span().start().line.saturating_sub(1).max(1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.statements == 0
    }

    /// Returns the source with its last expression wrapped in `show_value!`.
    pub(super) fn with_value_shown(&self) -> String {
        let mut shown = self.source.clone();
        if let Some(value) = &self.value {
            shown.insert_str(value.end, ");");
            shown.insert_str(value.start, "show_value!(");
        }
        shown.trim().to_owned()
    }
}

/// Returns the statements of a cell, or `None` if it is not valid Rust.
pub(crate) fn parse_statements(cell: &str) -> Option<Vec<Stmt>> {
    parse(&without_commands(cell)).ok()
}

/// Returns the statements of a cell without commands, and where the cell begins in the text of their spans.
pub(crate) fn located_statements(rust: &str) -> Option<(Vec<Stmt>, usize)> {
    Some((parse(rust).ok()?, OPEN.len()))
}

fn parse(source: &str) -> syn::Result<Vec<Stmt>> {
    let function = syn::parse_str::<ItemFn>(&format!("{OPEN}{source}\n}}"))?;
    Ok(function.block.stmts)
}

/// Returns the Rust of a cell, with its commands replaced by spaces.
pub(crate) fn without_commands(cell: &str) -> String {
    let is_command = |line: &str| {
        let line = line.trim_start();
        line.starts_with(':') && !line.starts_with("::")
    };
    let rust = without_percent(cell);
    let commands = Commands::new(&rust);
    blank_out(&commands.rest, is_command).into_owned()
}

/// Returns whether a last statement may have a value to show: `for`, `while`, and `if` without `else` have
/// no value.
fn has_value(last: &Stmt) -> bool {
    match last {
        Stmt::Expr(Expr::ForLoop(_) | Expr::While(_), _) => false,
        Stmt::Expr(Expr::If(expression), None) => expression.else_branch.is_some(),
        Stmt::Expr(_, semicolon) => semicolon.is_none(),
        Stmt::Macro(call) => call.semi_token.is_none(),
        Stmt::Local(_) | Stmt::Item(_) => false,
    }
}

/// Returns the names that an item introduces; none for other statements.
fn names(statement: &Stmt) -> Vec<String> {
    let Stmt::Item(item) = statement else {
        return Vec::new();
    };
    let name = match item {
        Item::Use(used) => {
            let mut names = Vec::new();
            collect_imported(&used.tree, None, &mut names);
            return names;
        }
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        Item::Const(item) => Some(&item.ident),
        Item::Static(item) => Some(&item.ident),
        Item::Mod(item) => Some(&item.ident),
        Item::Macro(item) => item.ident.as_ref(),
        _ => None,
    };
    name.map(ToString::to_string).into_iter().collect()
}

/// Collects the names that a `use` introduces. Names imported by a `*` are unknown here, but they do not
/// conflict with other items.
fn collect_imported(tree: &UseTree, parent: Option<&Ident>, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => collect_imported(&path.tree, Some(&path.ident), names),
        UseTree::Group(group) => group
            .items
            .iter()
            .for_each(|tree| collect_imported(tree, parent, names)),
        UseTree::Name(name) if name.ident == "self" => {
            names.extend(parent.map(ToString::to_string));
        }
        UseTree::Name(name) => names.push(name.ident.to_string()),
        UseTree::Rename(rename) if rename.rename != "_" => names.push(rename.rename.to_string()),
        UseTree::Rename(_) | UseTree::Glob(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_of(source: &str) -> Vec<String> {
        let parsed = RustCell::parse(source).map_err(|(_, error)| error);
        parsed.expect("Rust").names.into_iter().collect()
    }

    #[test]
    fn a_use_introduces_its_leaves() {
        let source = "use std::fmt::{self, Debug as D, Display as _}; use std::io::*;";
        assert_eq!(names_of(source), ["D", "fmt"]);
    }

    #[test]
    fn a_value_is_found_after_characters_of_several_bytes() {
        let parsed =
            RustCell::parse(":dep a = \"1\"\nlet é = \"ü\";\né // 损").map_err(|(_, error)| error);
        let shown = parsed.expect("Rust").with_value_shown();
        assert_eq!(shown, "let é = \"ü\";\nshow_value!(é); // 损");
    }
}
