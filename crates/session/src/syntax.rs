//! A cell as rust-analyzer's parser reads it, which also accepts what is not complete.

use ra_ap_syntax::ast::{self, AstNode, HasModuleItem};
use ra_ap_syntax::{Edition, SourceFile, TextRange};
use std::ops::Range;

/// The text before the cell, which makes it the body of a function.
const BEFORE: &str = "fn cell() {\n";

/// A parsed cell.
pub(crate) struct Syntax {
    length: usize,
    body: Option<ast::BlockExpr>,
}

impl Syntax {
    pub(crate) fn of(cell: &str) -> Syntax {
        let file = SourceFile::parse(&format!("{BEFORE}{cell}\n}}"), Edition::CURRENT).tree();
        let function = file.items().next().and_then(|item| match item {
            ast::Item::Fn(function) => Some(function),
            _ => None,
        });
        Syntax {
            length: cell.len(),
            body: function.and_then(|function| function.body()),
        }
    }

    /// Returns the statements and items, without an expression at the end.
    pub(crate) fn statements(&self) -> impl Iterator<Item = ast::Stmt> {
        self.body.iter().flat_map(ast::BlockExpr::statements)
    }

    /// Returns all nodes of one kind, in the order of the cell.
    pub(crate) fn all<N: AstNode>(&self) -> impl Iterator<Item = N> {
        let nodes = self
            .body
            .iter()
            .flat_map(|body| body.syntax().descendants());
        nodes.filter_map(N::cast)
    }

    /// Returns where a piece of syntax is in the cell.
    pub(crate) fn range(&self, of: TextRange) -> Range<usize> {
        let in_cell = |at: u32| (at as usize).saturating_sub(BEFORE.len()).min(self.length);
        in_cell(of.start().into())..in_cell(of.end().into())
    }
}
