//! Imports, one name each, so that a later cell can import a name again.

use proc_macro2::Ident;
use syn::spanned::Spanned;
use syn::{ItemUse, UseTree};

/// An import of one name, or of all names of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The name by which it is used; for a glob and for `as _`, the whole path.
    pub name: String,
    /// What is between `use` and the semicolon.
    pub tree: String,
    /// The attributes before `use`.
    attributes: String,
}

impl Import {
    /// Returns a number that changes with what is imported.
    pub fn version(&self) -> u64 {
        super::keys::version(&self.tree)
    }

    /// Returns the name by which it is used; `None` for a glob and for `as _`.
    pub fn introduced(self) -> Option<String> {
        let is_name = !self.name.contains(['*', ' ']);
        is_name.then_some(self.name)
    }

    /// Returns the import as an item.
    pub fn item(&self) -> String {
        format!("{}use {};", self.attributes, self.tree)
    }
}

/// Splits a `use` item.
pub fn of(item: &ItemUse) -> Vec<Import> {
    let attributes = item.attrs.iter();
    let attributes = attributes.filter_map(|it| it.span().source_text());
    let start = match item.leading_colon {
        Some(_) => "::",
        None => "",
    };
    let mut splitter = Splitter {
        attributes: attributes.map(|text| text + " ").collect(),
        found: Vec::new(),
    };
    splitter.split(&item.tree, start);
    splitter.found
}

struct Splitter {
    attributes: String,
    found: Vec<Import>,
}

impl Splitter {
    fn split(&mut self, tree: &UseTree, before: &str) {
        match tree {
            UseTree::Path(path) => self.split(&path.tree, &format!("{before}{}::", path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.split(tree, before)),
            UseTree::Name(leaf) if leaf.ident == "self" => {
                self.add(last(before), format!("{before}{{self}}"));
            }
            UseTree::Name(leaf) => {
                self.add(leaf.ident.to_string(), format!("{before}{}", leaf.ident))
            }
            UseTree::Rename(leaf) => {
                let tree = renamed(before, &leaf.ident, &leaf.rename);
                let name = match leaf.rename.to_string() {
                    name if name == "_" => tree.clone(),
                    name => name,
                };
                self.add(name, tree);
            }
            UseTree::Glob(_) => self.add(format!("{before}*"), format!("{before}*")),
        }
    }

    fn add(&mut self, name: String, tree: String) {
        let attributes = self.attributes.clone();
        self.found.push(Import {
            name,
            tree,
            attributes,
        });
    }
}

fn renamed(before: &str, ident: &Ident, rename: &Ident) -> String {
    if ident == "self" {
        format!("{before}{{self as {rename}}}")
    } else {
        format!("{before}{ident} as {rename}")
    }
}

fn last(path: &str) -> String {
    let path = path.trim_end_matches("::");
    path.rsplit("::").next().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_becomes_an_import() {
        let source = "use a::{self, b::{C, d as e, self as f}, g::*, H as _};";
        let found = of(&syn::parse_str(source).expect("it is valid"));
        let found: Vec<(&str, String)> = found
            .iter()
            .map(|import| (import.name.as_str(), import.item()))
            .collect();
        let expected = [
            ("a", "use a::{self};"),
            ("C", "use a::b::C;"),
            ("e", "use a::b::d as e;"),
            ("f", "use a::b::{self as f};"),
            ("a::g::*", "use a::g::*;"),
            ("a::H as _", "use a::H as _;"),
        ];
        assert_eq!(
            found,
            expected.map(|(name, import)| (name, import.to_owned()))
        );
    }

    #[test]
    fn attributes_and_a_leading_colon_stay() {
        let item = syn::parse_str("#[allow(unused)] pub use ::std::fmt;").expect("it is valid");
        assert_eq!(of(&item)[0].item(), "#[allow(unused)] use ::std::fmt;");
    }
}
