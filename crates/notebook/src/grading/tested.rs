//! The names that the tests of an assignment use.

use super::words::{flat, is_at, is_word};
use quote::ToTokens;
use std::collections::BTreeSet;
use syn::visit::Visit;
use syn::{Pat, Stmt};
use taper_rust_cell::{bindings, defined};

/// The names in the tests and the locked cells.
#[derive(Default)]
pub(super) struct Tested {
    /// Those that the cell itself does not bind.
    pub(super) free: BTreeSet<String>,
    /// Those that are called like a function.
    pub(super) called: BTreeSet<String>,
    /// Those after a dot or `::`.
    pub(super) methods: BTreeSet<String>,
    /// Those that these cells define: variables and items.
    pub(super) defined: BTreeSet<String>,
}

impl Tested {
    /// Adds a cell.
    pub(super) fn add(&mut self, statements: &[Stmt]) {
        let mut known = BTreeSet::new();
        for statement in statements {
            let tokens = flat(statement.to_token_stream());
            let inner = bound_inside(statement);
            self.add_tokens(&tokens, |word| known.contains(word) || inner.contains(word));
            known.extend(defined_by(statement));
        }
        self.defined.extend(known);
    }

    fn add_tokens(&mut self, tokens: &[String], is_bound: impl Fn(&str) -> bool) {
        let parameters = closure_parameters(tokens);
        for (at, word) in tokens.iter().enumerate().filter(|(_, it)| is_word(it)) {
            let is_before = |token| at > 0 && is_at(tokens, at - 1, token);
            if is_before(".") || is_before("::") {
                self.methods.insert(word.clone());
            }
            let is_field = is_before(".") || is_at(tokens, at + 1, ":");
            if is_field || is_bound(word) || parameters.contains(word) {
                continue;
            }
            self.free.insert(word.clone());
            if is_at(tokens, at + 1, "(") {
                self.called.insert(word.clone());
            }
        }
    }

    /// Returns whether the tests contain a name.
    pub(super) fn mentions(&self, name: &str) -> bool {
        self.free.contains(name) || self.methods.contains(name)
    }

    /// Returns whether a variable with this name would change what a test means.
    pub(super) fn reads(&self, name: &str) -> bool {
        self.free.contains(name) && (self.called.contains(name) || self.defined.contains(name))
    }
}

/// Returns the variables and the items that a statement defines.
fn defined_by(statement: &Stmt) -> Vec<String> {
    match statement {
        Stmt::Local(local) => bindings::names(&local.pat).collect(),
        Stmt::Item(item) => defined(item),
        _ => Vec::new(),
    }
}

/// Returns the names that patterns inside a statement bind: those of closures, matches and loops.
fn bound_inside(statement: &Stmt) -> BTreeSet<String> {
    struct Inside(BTreeSet<String>);
    impl Visit<'_> for Inside {
        fn visit_pat(&mut self, pattern: &Pat) {
            self.0.extend(bindings::names(pattern));
        }
    }
    let mut inside = Inside(BTreeSet::new());
    inside.visit_stmt(statement);
    inside.0
}

/// Returns the words between two `|`: inside a macro, closures are only tokens.
fn closure_parameters(tokens: &[String]) -> BTreeSet<String> {
    let bars = tokens.iter().enumerate().filter(|(_, token)| *token == "|");
    let bars: Vec<usize> = bars.map(|(at, _)| at).collect();
    let between = bars.windows(2).filter(|pair| pair[1] - pair[0] < 24);
    let tokens = between.flat_map(|pair| &tokens[pair[0]..pair[1]]);
    tokens.filter(|token| is_word(token)).cloned().collect()
}
