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

    /// Returns whether the cell is one expression that needs no parentheses before `.method()` and `as`.
    pub(crate) fn is_operand(&self) -> bool {
        use ast::Expr as E;
        let Some(body) = &self.body else { return false };
        body.statements().next().is_none()
            && matches!(
                body.tail_expr(),
                Some(
                    E::ArrayExpr(_)
                        | E::AwaitExpr(_)
                        | E::CallExpr(_)
                        | E::FieldExpr(_)
                        | E::IndexExpr(_)
                        | E::Literal(_)
                        | E::MacroExpr(_)
                        | E::MethodCallExpr(_)
                        | E::ParenExpr(_)
                        | E::PathExpr(_)
                        | E::TryExpr(_)
                        | E::TupleExpr(_)
                )
            )
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
