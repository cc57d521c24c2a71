//! Inner attributes, such as `#![allow(unused)]`: those of a cell apply to the cell.

use std::ops::Range;
use syn::Attribute;
use syn::spanned::Spanned;
use taper_rust_cell::range;

/// The inner attributes of a cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    /// Where they are in the source.
    pub(crate) ranges: Vec<Range<usize>>,
    /// Those that set the levels of lints, as attributes of a statement.
    pub(crate) levels: String,
    /// Those of the crate, which all cells share: limits and features of the compiler.
    pub(crate) of_crate: Vec<String>,
    /// The first attribute that would change all cells.
    pub(crate) refused: Option<String>,
}

impl Attributes {
    pub(super) fn of(found: &[Attribute]) -> Attributes {
        let mut attributes = Attributes {
            ranges: found.iter().map(range).collect(),
            ..Attributes::default()
        };
        for attribute in found {
            let text = attribute.span().source_text().unwrap_or_default();
            let path = attribute.path();
            let name = path.get_ident().map(ToString::to_string);
            match name.as_deref() {
                Some("allow" | "warn" | "deny" | "forbid" | "cfg_attr") => {
                    attributes.levels += &text.replacen('!', "", 1);
                }
                // What is expected of the cell need not happen in each of its items.
                Some("expect") => {
                    attributes.levels += &text.replacen('!', "", 1).replacen("expect", "allow", 1);
                }
                Some("recursion_limit" | "type_length_limit" | "feature") => {
                    attributes.of_crate.push(text);
                }
                // A comment, or the attribute of another tool, such as `rustfmt::skip`.
                Some("doc") | None => {}
                Some(_) => {
                    attributes.refused.get_or_insert(text);
                }
            }
        }
        attributes
    }

    /// Returns the levels of lints for an item. A static gets a symbol, which is `unsafe`: nothing must forbid that.
    pub(super) fn levels_of_item(&self, has_statics: bool) -> String {
        match has_statics && !self.levels.is_empty() {
            true => self.levels.replace("forbid", "deny") + " #[allow(unsafe_code)]",
            false => self.levels.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::cell::{Macros, parse};

    #[test]
    fn attributes_are_those_of_the_cell_unless_the_crate_needs_them() {
        let source = "//! Words.\n#![allow(unused)] #![forbid(unsafe_code)]\n#![recursion_limit = \"256\"]\n#![rustfmt::skip]\nlet x = 1;";
        let cell = parse(source, &Macros::NONE).expect("it is valid");
        assert_eq!(cell.attributes.ranges.len(), 5);
        assert_eq!(
            cell.attributes.levels,
            "#[allow(unused)]#[forbid(unsafe_code)]"
        );
        assert_eq!(cell.attributes.of_crate, ["#![recursion_limit = \"256\"]"]);
        assert_eq!(cell.attributes.refused, None);
        let cell = parse("#![no_std]\nlet x = 1;", &Macros::NONE).expect("it is valid");
        assert_eq!(cell.attributes.refused.as_deref(), Some("#![no_std]"));
    }

    #[test]
    fn a_static_is_never_forbidden() {
        let source = "#![forbid(unsafe_code)]\nstatic N: i32 = 1; fn f() {}";
        let cell = parse(source, &Macros::NONE).expect("it is valid");
        assert_eq!(
            cell.items[0].levels,
            "#[deny(unsafe_code)] #[allow(unsafe_code)]"
        );
        assert_eq!(cell.items[1].levels, "#[forbid(unsafe_code)]");
    }
}
