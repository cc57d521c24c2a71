//! Cells that are too large for a part of the session.

use super::diagnostics;
use super::tokens::{depth_after, texts};
use taper_evaluator::CellError;

/// How many variables a cell may define that rust-analyzer sees: it infers the types of all of them together, in a time that
/// grows with the square of their number. For this many it takes about a second.
const VARIABLES: usize = 500;
/// How deeply brackets may be nested: parsers descend into them by recursion.
const DEPTH: usize = 256;

/// Returns why this cell cannot be read, or `None`.
pub(super) fn refusal(code: &str) -> Option<CellError> {
    let (_, deepest) = measure(code);
    if deepest <= DEPTH {
        return None;
    }
    let message = format!(
        "The cell nests brackets {deepest} levels deep, but {DEPTH} are the limit: \
         put inner parts into variables or functions."
    );
    Some(diagnostics::error("CellTooLarge", &message, None))
}

/// Returns whether rust-analyzer would take too long for a cell. It sees cells that are edited, not those that run.
pub(super) fn is_too_large_to_analyse(code: &str) -> bool {
    let (variables, deepest) = measure(code);
    variables > VARIABLES || deepest > DEPTH
}

/// Returns how many variables a cell defines, and how deeply it nests brackets.
fn measure(code: &str) -> (usize, usize) {
    let (mut variables, mut depth, mut deepest) = (0, 0, 0);
    for token in texts(code) {
        if depth == 0 && token == "let" {
            variables += 1;
        }
        depth = depth_after(depth, token);
        deepest = deepest.max(depth);
    }
    (variables, deepest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_with_many_variables_runs_and_is_not_analysed() {
        let cell = "let a = 1;\n".repeat(VARIABLES);
        assert!(!is_too_large_to_analyse(&cell));
        assert!(!is_too_large_to_analyse(&format!(
            "fn f() {{ {cell} }} {cell}"
        )));
        let more = format!("{cell}let b = 2;");
        assert!(is_too_large_to_analyse(&more));
        assert_eq!(refusal(&more), None);
    }

    #[test]
    fn a_cell_that_is_nested_too_deeply_is_refused() {
        let nested = |depth| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(refusal(&nested(DEPTH)), None);
        let refused = refusal(&nested(20_000)).map_or(String::new(), |error| error.message);
        assert!(
            refused.starts_with("The cell nests brackets 20000 levels"),
            "{refused}"
        );
    }
}
