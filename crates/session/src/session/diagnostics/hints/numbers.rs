//! Arithmetic between two number types.

use super::hint::{Hint, besides, default_of, is_float, is_number, operand, quotes};
use crate::session::diagnostics::context::Context;
use crate::session::diagnostics::diagnostic::Diagnostic;
use ra_ap_syntax::ast::{self, AstNode};

/// Says how to convert one side of an operator between two number types.
pub(super) fn hint(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let message = &diagnostic.message;
    let verbs = ["add", "subtract", "multiply", "divide", "calculate"];
    let mut is_about = verbs
        .iter()
        .map(|verb| message.starts_with(&format!("cannot {verb} ")));
    let kinds = quotes(message).map(|kind| kind.trim_start_matches('&'));
    let kinds: Vec<&str> = kinds.filter(|kind| is_number(kind)).collect();
    let &[first, second] = &kinds[..] else {
        return None;
    };
    // A literal without a decimal point has a rule of its own.
    let has_literal = kinds.contains(&"{integer}") && kinds.iter().any(|kind| is_float(kind));
    if !is_about.any(|it| it) || !diagnostic.notes.is_empty() || has_literal {
        return None;
    }
    // rustc says "cannot add right to left", but "multiply left by right".
    let is_turned = [" to `", " from `"].iter().any(|it| message.contains(it));
    let (left, right) = if is_turned {
        (second, first)
    } else {
        (first, second)
    };
    let wide = wider(left, right);
    let sides = context.around::<ast::BinExpr>(diagnostic);
    let sides = sides.and_then(|it| Some((it.lhs()?, it.rhs()?)));
    let side = sides.map_or("n".to_owned(), |(lhs, rhs)| {
        let side = if wide == left { rhs } else { lhs };
        operand(&side.syntax().text().to_string())
    });
    Some(besides(format!(
        "Rust does not mix number types, here `{}` and `{}`. Convert one side: `{side} as {}`.",
        default_of(left),
        default_of(right),
        default_of(wide),
    )))
}

/// Returns the type that holds more of the values of both.
fn wider<'a>(left: &'a str, right: &'a str) -> &'a str {
    let size = |kind: &str| match kind {
        _ if is_float(kind) => 1000 + kind.trim_start_matches('f').parse().unwrap_or(64),
        // An index stays one.
        "usize" | "isize" => 64,
        _ => kind[1..].parse().unwrap_or(0),
    };
    if size(right) > size(left) {
        right
    } else {
        left
    }
}
