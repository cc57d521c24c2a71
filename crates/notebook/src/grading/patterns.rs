//! The patterns of statements.

use std::collections::BTreeSet;
use syn::Stmt;

/// Returns the names that a pattern binds.
pub(super) fn bound(pattern: &syn::Pat) -> BTreeSet<String> {
    struct Bound(BTreeSet<String>);
    impl syn::visit::Visit<'_> for Bound {
        fn visit_pat_ident(&mut self, found: &syn::PatIdent) {
            let name = found.ident.to_string();
            // A pattern such as `None` is a path, which the parser cannot know.
            if name.starts_with(|first: char| first.is_lowercase() || first == '_') {
                self.0.insert(name);
            }
            syn::visit::visit_pat_ident(self, found);
        }
    }
    let mut names = Bound(BTreeSet::new());
    syn::visit::Visit::visit_pat(&mut names, pattern);
    names.0
}

/// Returns the patterns of the `let` statements among these.
pub(super) fn lets(statements: &[Stmt]) -> impl Iterator<Item = &syn::Pat> {
    statements.iter().filter_map(|statement| match statement {
        Stmt::Local(local) => Some(&local.pat),
        _ => None,
    })
}
