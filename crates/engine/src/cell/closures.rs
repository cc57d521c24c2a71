//! The closures in the statements of a cell.

use syn::visit::{self, Visit};
use syn::{ExprClosure, Item};
use taper_rust_cell::range;

/// A closure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Closure {
    /// Where it begins in the source.
    pub(crate) start: usize,
    /// The number of its parameters.
    pub(crate) parameters: usize,
    /// Whether it moves what it captures.
    pub(crate) is_move: bool,
}

/// Collects closures in one statement after the other.
#[derive(Default)]
pub(super) struct Closures(pub(super) Vec<Closure>);

impl Visit<'_> for Closures {
    fn visit_expr_closure(&mut self, closure: &ExprClosure) {
        self.0.push(Closure {
            start: range(closure).start,
            parameters: closure.inputs.len(),
            is_move: closure.capture.is_some(),
        });
        visit::visit_expr_closure(self, closure);
    }

    fn visit_item(&mut self, _: &Item) {}
}
