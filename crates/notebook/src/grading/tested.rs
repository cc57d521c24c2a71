//! The names that the tests of an assignment use.

use super::patterns::lets;
use super::stubs::{Stubs, item_name};
use super::words::{self, Token, begins_path};
use quote::ToTokens;
use std::collections::BTreeSet;
use syn::visit::Visit;
use syn::{Pat, Stmt};
use taper_rust_cell::bindings;

/// The names in the tests and the locked cells.
#[derive(Default)]
pub(super) struct Tested {
    /// Those that the cell itself does not bind.
    free: BTreeSet<String>,
    /// Those that are called like a function.
    called: BTreeSet<String>,
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
            let tokens = words::flat(statement.to_token_stream());
            let inner = bound_inside(statement);
            self.add_tokens(&tokens, |word| known.contains(word) || inner.contains(word));
            known.extend(lets(std::slice::from_ref(statement)).flat_map(bindings::names));
            known.extend(item_name(statement));
        }
        self.defined.extend(known);
    }

    fn add_tokens(&mut self, tokens: &[Token], is_bound: impl Fn(&str) -> bool) {
        let parameters = closure_parameters(tokens);
        for (at, token) in tokens.iter().enumerate() {
            let Token::Word(word) = token else { continue };
            let before = at.checked_sub(1).map(|at| &tokens[at]);
            let next = tokens.get(at + 1);
            let is_field = next.is_some_and(|next| *next == Token::Punct(':', false));
            let after_dot = before.is_some_and(|before| before.is('.'));
            if after_dot || (at >= 2 && begins_path(tokens, at - 2)) {
                self.methods.insert(word.clone());
            }
            if after_dot || is_field || is_bound(word) || parameters.contains(word) {
                continue;
            }
            self.free.insert(word.clone());
            if next == Some(&Token::Call) {
                self.called.insert(word.clone());
            }
        }
    }

    /// Adds the types in the signatures that the students' functions must have.
    pub(super) fn add_types(&mut self, stubs: &Stubs) {
        self.free.extend(stubs.types());
    }

    /// Returns whether an item with this name would change what a test means.
    pub(super) fn uses(&self, name: &str) -> bool {
        self.free.contains(name)
    }

    /// Returns whether a variable with this name would.
    pub(super) fn reads(&self, name: &str) -> bool {
        self.free.contains(name) && (self.called.contains(name) || self.defined.contains(name))
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
fn closure_parameters(tokens: &[Token]) -> BTreeSet<String> {
    let bars = tokens.iter().enumerate().filter(|(_, token)| token.is('|'));
    let bars: Vec<usize> = bars.map(|(at, _)| at).collect();
    let between = bars.windows(2).filter(|pair| pair[1] - pair[0] < 24);
    between
        .flat_map(|pair| tokens[pair[0]..pair[1]].iter().filter_map(Token::word))
        .collect()
}
