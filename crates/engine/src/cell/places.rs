//! Where the statements of a cell name variables.
//!
//! A frozen variable is a reference to its value. But `&text` must be a reference to a text all the same, and
//! `let moved = text;` a mistake: so where the cell names it, `(*text)` is written.

use std::collections::HashSet;
use std::ops::Range;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, ExprPath, FieldValue, Item, Macro, PatIdent, Token};
use taper_rust_cell::range;

/// A place where a variable is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) range: Range<usize>,
    /// Whether it is also the name of a field, as in `Point { x, y }`.
    pub(crate) is_field: bool,
}

/// Collects places in one statement after the other.
#[derive(Default)]
pub(super) struct Places {
    found: Vec<Place>,
    /// Names that a pattern inside a statement defines: they may be other variables.
    inner: HashSet<String>,
}

impl Places {
    /// Returns the places of variables whose names have one meaning.
    pub(super) fn finish(self) -> Vec<Place> {
        let Places { mut found, inner } = self;
        found.retain(|place| !inner.contains(&place.name));
        found
    }

    fn add(&mut self, path: &ExprPath, is_field: bool) {
        if path.qself.is_none()
            && let Some(name) = path.path.get_ident()
        {
            self.found.push(Place {
                name: name.to_string(),
                range: range(path),
                is_field,
            });
        }
    }
}

impl Visit<'_> for Places {
    fn visit_expr_path(&mut self, path: &ExprPath) {
        self.add(path, false);
    }

    fn visit_field_value(&mut self, field: &FieldValue) {
        match &field.expr {
            Expr::Path(path) if field.colon_token.is_none() => self.add(path, true),
            value => self.visit_expr(value),
        }
    }

    fn visit_pat_ident(&mut self, pattern: &PatIdent) {
        self.inner.insert(pattern.ident.to_string());
        visit::visit_pat_ident(self, pattern);
    }

    /// Macros that show the source of their arguments are left as they are.
    fn visit_macro(&mut self, call: &Macro) {
        const KNOWN: [&str; 9] = [
            "eprint", "eprintln", "format", "panic", "print", "println", "vec", "write", "writeln",
        ];
        let name = call.path.segments.last().map(|last| last.ident.to_string());
        if !name.is_some_and(|name| KNOWN.contains(&&*name)) {
            return;
        }
        let list = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(call.tokens.clone());
        for argument in list.into_iter().flatten() {
            match &argument {
                Expr::Assign(named) => self.visit_expr(&named.right),
                argument => self.visit_expr(argument),
            }
        }
    }

    fn visit_item(&mut self, _: &Item) {}
}

#[cfg(test)]
mod tests {
    use crate::cell::{Macros, parse};

    #[test]
    fn variables_are_found_where_they_are_named() {
        let source = "let a = b + c.b; f(b); P { b, x: b }; println!(\"{b}\", d = b); let b = b; |c: i32| c; assert!(b);";
        let cell = parse(source, &Macros::NONE).expect("it is valid");
        let found = cell.places.iter().filter(|place| place.name == "b");
        let found: Vec<usize> = found.map(|place| place.range.start).collect();
        let expected: Vec<usize> = ["b + ", "b);", "b, x", "b }", "b); let", "b; |"]
            .iter()
            .map(|text| source.find(text).expect("it is there"))
            .collect();
        assert_eq!(found, expected);
        assert!(cell.places.iter().all(|place| place.name != "c"));
        assert!(cell.places.iter().any(|place| place.is_field));
    }
}
