//! Methods, fields and operators of PyTorch's tensors, and what Taper's have instead.

use super::hint::{Hint, instead, quotes};
use super::tables::{TABLES, hint_for};
use crate::session::diagnostics::context::Context;
use crate::session::diagnostics::diagnostic::Diagnostic;

/// Explains a method, a field or an argument of PyTorch.
pub(super) fn hint(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let name = context.primary(diagnostic);
    let receiver = quotes(&diagnostic.message).last().unwrap_or_default();
    let is_tensor = receiver.trim_start_matches('&') == "Tensor" && !context.defines_item("Tensor");
    let table = match diagnostic.code.as_deref()? {
        "E0599" | "E0609" | "E0615" | "E0616" if is_tensor => &TABLES.tensor_missing,
        "E0061" if diagnostic.calls_taper => &TABLES.tensor_arguments,
        _ => return None,
    };
    hint_for(table, name).map(instead)
}

/// Returns whether this is a function of taper's that is known by its name.
pub(super) fn is_function(name: &str) -> bool {
    let call = format!("`{name}(");
    hint_for(&TABLES.tensor_arguments, name).is_some_and(|hint| hint.contains(&call))
}
