//! Calls of macros that are statements.

use super::macros;
use std::ops::Range;
use syn::{Expr, ExprMacro, Stmt, StmtMacro};
use taper_rust_cell::range;

/// A call of a macro that is a statement.
pub(crate) struct Call {
    pub(crate) range: Range<usize>,
    /// The path of the macro.
    pub(crate) path: String,
}

impl Call {
    pub(super) fn of(call: &StmtMacro) -> Call {
        Call {
            range: range(call),
            path: macros::path_of(&call.mac),
        }
    }
}

/// Returns a call without a semicolon at the end of a cell in the form of all others.
pub(super) fn as_call(statement: Stmt) -> Stmt {
    match statement {
        Stmt::Expr(Expr::Macro(ExprMacro { attrs, mac }), semi_token) => Stmt::Macro(StmtMacro {
            attrs,
            mac,
            semi_token,
        }),
        statement => statement,
    }
}
