//! Parses the Rust of one cell: the items that it defines and the expression whose value it shows.

use std::collections::BTreeSet;
use std::ops::Range;
use syn::{Expr, Stmt};
use taper_rust_cell::commands::without_commands;
use taper_rust_cell::{defined, range, statements};

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
        let statements = match statements(&source) {
            Ok(statements) => statements,
            Err(error) => return Err((source, error)),
        };
        let value = statements.last().filter(|last| has_value(last));
        Ok(RustCell {
            source,
            statements: statements.len(),
            names: statements.iter().flat_map(names).collect(),
            value: value.map(range),
        })
    }

    /// Returns the line of the cell at which the parser failed, from 1.
    pub(super) fn line_of(error: &syn::Error) -> usize {
        error.span().start().line
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

/// Returns the names that an item introduces; none for other statements.
fn names(statement: &Stmt) -> Vec<String> {
    match statement {
        Stmt::Item(item) => defined(item),
        _ => Vec::new(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_after_characters_of_several_bytes() {
        let parsed =
            RustCell::parse(":dep a = \"1\"\nlet é = \"ü\";\né // 损").map_err(|(_, error)| error);
        let shown = parsed.expect("Rust").with_value_shown();
        assert_eq!(shown, "let é = \"ü\";\nshow_value!(é); // 损");
    }
}
