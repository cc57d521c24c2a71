//! The names that an item defines.

use crate::imports::{self, Import};
use crate::keys::{self, Key};
use syn::Item;

/// Returns the names that an item introduces. Those that are imported by a `*` are not known.
pub fn defined(item: &Item) -> Vec<String> {
    if let Item::Use(import) = item {
        let imports = imports::of(import).into_iter();
        return imports.filter_map(Import::introduced).collect();
    }
    let keys = keys::of(item).into_iter();
    keys.filter_map(|(key, _)| match key {
        Key::Type(name) | Key::Value(name) | Key::Macro(name) => Some(name),
        Key::MacroCall(_) | Key::Implementation(..) | Key::Method(..) => None,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements;
    use syn::Stmt;

    fn names(rust: &str) -> Vec<String> {
        let statements = statements(rust).expect("it is valid");
        let items = statements.iter().filter_map(|statement| match statement {
            Stmt::Item(item) => Some(item),
            _ => None,
        });
        items.flat_map(defined).collect()
    }

    #[test]
    fn a_use_introduces_its_leaves() {
        let source = "use std::fmt::{self, Debug as D, Display as _}; use std::io::*;";
        assert_eq!(names(source), ["fmt", "D"]);
    }

    #[test]
    fn items_introduce_their_names() {
        let source = "fn f() {} struct S; enum E {} macro_rules! m { () => {} } impl S { fn g() {} } let x = 1;";
        assert_eq!(names(source), ["f", "S", "S", "E", "m"]);
    }
}
