//! The patterns of statements.

use syn::Stmt;

/// Returns the patterns of the `let` statements among these.
pub(super) fn lets(statements: &[Stmt]) -> impl Iterator<Item = &syn::Pat> {
    statements.iter().filter_map(|statement| match statement {
        Stmt::Local(local) => Some(&local.pat),
        _ => None,
    })
}
