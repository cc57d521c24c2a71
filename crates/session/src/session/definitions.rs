//! The names that a cell defines.

use super::tokens::texts;
use crate::syntax::Syntax;
use ra_ap_syntax::ast::{self, AstNode, HasAttrs, HasName};
use std::collections::BTreeSet;

/// The names that a cell defines at its top level.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    pub(crate) variables: BTreeSet<String>,
    pub(crate) items: BTreeSet<String>,
    /// Imported names, each with its import.
    pub(crate) imports: Vec<(String, String)>,
    /// Imports of all names of a module.
    pub(crate) globs: Vec<String>,
}

impl Definitions {
    pub(crate) fn of(code: &str) -> Definitions {
        let mut found = Definitions::default();
        let text = |name: Option<ast::Name>| name.map(|name| name.text().to_string());
        for statement in Syntax::of(code).statements() {
            match statement {
                ast::Stmt::LetStmt(it) => {
                    let parts = it.pat().into_iter();
                    let parts = parts.flat_map(|pattern| pattern.syntax().descendants());
                    let names = parts.filter_map(|part| text(ast::IdentPat::cast(part)?.name()));
                    // One with a capital letter is a constant or a unit struct.
                    let names = names.filter(|name| !name.starts_with(char::is_uppercase));
                    found.variables.extend(names);
                }
                ast::Stmt::Item(ast::Item::Use(it)) => found.add_import(&it),
                ast::Stmt::Item(it) => {
                    let named = ast::AnyHasName::cast(it.syntax().clone());
                    found.items.extend(named.and_then(|it| text(it.name())));
                }
                ast::Stmt::ExprStmt(_) => {}
            }
        }
        found
    }

    fn add_import(&mut self, import: &ast::Use) {
        let text = import.syntax().text().to_string();
        let parts = import.syntax().descendants();
        for tree in parts.filter_map(ast::UseTree::cast) {
            if tree.star_token().is_some() {
                self.globs.push(text.clone());
            } else if tree.use_tree_list().is_none() {
                let renamed = tree.rename().and_then(|it| it.name());
                let renamed = renamed.map(|name| name.text().to_string());
                let last = tree.path().and_then(|path| path.segment());
                let last = last.and_then(|it| Some(it.name_ref()?.text().to_string()));
                let name = renamed.or(last);
                self.imports.extend(name.map(|name| (name, text.clone())));
            }
        }
    }
}

/// Returns whether a cell derives this trait for a type that it defines.
pub(crate) fn has_derive(cell: &Syntax, kind: &str, of: &str) -> bool {
    cell.all::<ast::Adt>().any(|it| {
        let is_it = it.name().is_some_and(|name| name.text() == kind);
        let derives = it.attrs().map(|it| it.syntax().text().to_string());
        let mut derives = derives.filter(|text| text.contains("derive"));
        is_it && derives.any(|text| texts(&text).contains(&of))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn the_names_at_the_top_level_are_found() {
        let defined = Definitions::of(
            "let mut a = { let b = 1; b };\nlet (c, _) = (1, 2);\nlet P { x, y: z }: P = p;\nfn f(q: u8) {}\nstruct S;",
        );
        assert_eq!(defined.variables, set(&["a", "c", "x", "z"]));
        assert_eq!(defined.items, set(&["S", "f"]));
    }

    #[test]
    fn derived_traits_are_found() {
        let cell =
            Syntax::of("#[derive(Clone, Debug)]\nstruct A;\n#[doc = \"Debug\"]\nenum B { Debug }");
        assert!(has_derive(&cell, "A", "Debug") && has_derive(&cell, "A", "Clone"));
        assert!(!has_derive(&cell, "A", "Copy") && !has_derive(&cell, "B", "Debug"));
    }
}
