//! Values without a name that a variable borrows from: `let first = &rows()[0];`.
//!
//! Rust keeps such a temporary value until the block ends. These are its rules for that, which follow the syntax alone.

use std::ops::Range;
use syn::{Expr, Local, Stmt};
use taper_rust_cell::range;

/// A temporary value that lives as long as the variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Temporary {
    /// The expression that makes it.
    pub(crate) range: Range<usize>,
    /// Whether it is borrowed with `&mut`.
    pub(crate) is_mutable: bool,
}

/// Adds the temporary values of a `let`; what is around others is first.
pub(super) fn collect(local: &Local, found: &mut Vec<Temporary>) {
    if let Some(init) = local.init.as_ref().filter(|init| init.diverge.is_none()) {
        extend(&init.expr, found);
    }
}

/// Adds the temporary values of an expression whose borrows live as long as the variable.
fn extend(expression: &Expr, found: &mut Vec<Temporary>) {
    let mut all =
        |parts: &mut dyn Iterator<Item = &Expr>| parts.for_each(|part| extend(part, found));
    match expression {
        Expr::Reference(it) => borrow(&it.expr, it.mutability.is_some(), found),
        Expr::Array(it) => all(&mut it.elems.iter()),
        Expr::Tuple(it) => all(&mut it.elems.iter()),
        Expr::Struct(it) => all(&mut it.fields.iter().map(|field| &field.expr)),
        Expr::Cast(it) => all(&mut std::iter::once(&*it.expr)),
        Expr::Paren(it) => all(&mut std::iter::once(&*it.expr)),
        Expr::Call(it) if is_constructor(&it.func) => all(&mut it.args.iter()),
        Expr::Block(it) => all(&mut value_of(&it.block.stmts)),
        Expr::Unsafe(it) => all(&mut value_of(&it.block.stmts)),
        Expr::If(it) => {
            all(&mut value_of(&it.then_branch.stmts));
            all(&mut it.else_branch.iter().map(|(_, otherwise)| &**otherwise));
        }
        _ => {}
    }
}

/// Adds the temporary value that is borrowed, as a whole or in part.
fn borrow(operand: &Expr, is_mutable: bool, found: &mut Vec<Temporary>) {
    let mut value = operand;
    loop {
        value = match value {
            Expr::Field(it) => &it.base,
            Expr::Index(it) => &it.expr,
            Expr::Paren(it) => &it.expr,
            Expr::Unary(it) if matches!(it.op, syn::UnOp::Deref(_)) => &it.expr,
            _ => break,
        };
    }
    if !matches!(value, Expr::Path(_) | Expr::Lit(_)) {
        found.push(Temporary {
            range: range(value),
            is_mutable,
        });
        extend(value, found);
    }
}

/// Returns whether a function is a struct or a variant of an enum.
fn is_constructor(function: &Expr) -> bool {
    let Expr::Path(path) = function else {
        return false;
    };
    let last = path.path.segments.last();
    last.is_some_and(|last| last.ident.to_string().starts_with(char::is_uppercase))
}

fn value_of(statements: &[Stmt]) -> impl Iterator<Item = &Expr> {
    statements.last().into_iter().filter_map(|last| match last {
        Stmt::Expr(value, None) => Some(value),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use crate::cell::{Macros, parse};

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let cell = parse(source, &Macros::NONE).expect("it is valid");
        let found = cell.temporaries.iter();
        let found: Vec<&str> = found.map(|it| &source[it.range.clone()]).collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn temporary_values_that_live_on_are_found() {
        check("let a = &f(x)[0];", &["f(x)"]);
        check("let a = &mut g().field.0;", &["g()"]);
        check("let a: &str = &*name();", &["name()"]);
        check(
            "let a = (&f(), [&g()], P { x: &h() });",
            &["f()", "g()", "h()"],
        );
        check("let a = Some(&f());", &["f()"]);
        check("let a = &[&f()];", &["[&f()]", "f()"]);
        check("let a = { b(); &f() };", &["f()"]);
        check(
            "let a = &x.y; let b = &3; let c = f(&g()); let d = g().h();",
            &[],
        );
    }
}
