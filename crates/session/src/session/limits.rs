//! Refuses cells that the analysis would not finish in an acceptable time.
//!
//! rust-analyzer infers the types of all variables of a cell together, in a time that grows with the square
//! of their number, and descends into nested code by recursion. Cells that are written by hand do not come
//! near these limits.

use super::diagnostics;
use super::tokens::{depth_after, texts};
use taper_evaluator::CellError;

/// How many variables a cell may define: their analysis takes about a second.
const VARIABLES: usize = 500;
/// How deeply brackets may be nested.
const DEPTH: usize = 256;

/// Returns why this cell is refused, or `None`.
pub(super) fn refusal(code: &str) -> Option<CellError> {
    let (mut variables, mut depth, mut deepest) = (0, 0, 0);
    for token in texts(code) {
        if depth == 0 && token == "let" {
            variables += 1;
        }
        depth = depth_after(depth, token);
        deepest = deepest.max(depth);
    }
    let message = if variables > VARIABLES {
        format!(
            "The cell defines {variables} variables, but {VARIABLES} are the limit: \
             put the values into a `Vec`, or the code into a function."
        )
    } else if deepest > DEPTH {
        format!(
            "The cell nests brackets {deepest} levels deep, but {DEPTH} are the limit: \
             put inner parts into variables or functions."
        )
    } else {
        return None;
    };
    Some(diagnostics::error("CellTooLarge", &message, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(code: &str) -> String {
        refusal(code).map(|error| error.message).unwrap_or_default()
    }

    #[test]
    fn a_cell_with_too_many_variables_is_refused() {
        let cell = "let a = 1;\n".repeat(VARIABLES);
        assert_eq!(message(&cell), "");
        assert_eq!(message(&format!("fn f() {{ {cell} }} {cell}")), "");
        let refused = message(&format!("{cell}let b = 2;"));
        assert!(
            refused.starts_with("The cell defines 501 variables"),
            "{refused}"
        );
    }

    #[test]
    fn a_cell_that_is_nested_too_deeply_is_refused() {
        let nested = |depth| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(message(&nested(DEPTH)), "");
        let refused = message(&nested(20_000));
        assert!(
            refused.starts_with("The cell nests brackets 20000 levels"),
            "{refused}"
        );
    }
}
