//! Finds `?` and `.await` that belong to the cell itself.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Expr, ExprAsync, ExprClosure, Item, Macro, Stmt};

/// What can end a statement early, or make it wait.
#[derive(Default)]
pub(super) struct Flow {
    pub(super) has_try: bool,
    pub(super) has_await: bool,
}

/// Returns whether a statement can end the cell with `?`, and whether it waits for a future.
pub(super) fn of(statement: &Stmt) -> Flow {
    let mut flow = Flow::default();
    flow.visit_stmt(statement);
    flow
}

impl Visit<'_> for Flow {
    fn visit_expr(&mut self, expression: &Expr) {
        self.has_try |= matches!(expression, Expr::Try(_));
        self.has_await |= matches!(expression, Expr::Await(_));
        visit::visit_expr(self, expression);
    }

    // What follows has a `?` of its own.
    fn visit_expr_closure(&mut self, _: &ExprClosure) {}

    fn visit_expr_async(&mut self, _: &ExprAsync) {}

    fn visit_item(&mut self, _: &Item) {}

    fn visit_macro(&mut self, call: &Macro) {
        self.find_in(call.tokens.clone());
    }
}

impl Flow {
    /// Looks through the arguments of a macro, which may be of any form.
    fn find_in(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.find_in(group.stream()),
                TokenTree::Punct(mark) => self.has_try |= mark.as_char() == '?',
                TokenTree::Ident(word) => self.has_await |= word == "await",
                TokenTree::Literal(_) => {}
            }
        }
    }
}
