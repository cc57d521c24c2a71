//! Finds the expression before a dot.

use super::tokens::{is_name, with_offsets};
use ra_ap_rustc_lexer::TokenKind;

/// A place in code where a field or method is completed: `receiver.na|`.
#[derive(Debug, PartialEq)]
pub(crate) struct DotAccess {
    /// Where the receiver begins.
    pub(crate) receiver: usize,
    /// Where the name begins, after the dot.
    pub(crate) name: usize,
}

/// Returns the field or method access at the cursor.
pub(crate) fn dot_access(code: &str, cursor: usize) -> Option<DotAccess> {
    let name = code[..cursor].trim_end_matches(|c: char| c == '_' || c.is_alphanumeric());
    let tokens = with_offsets(name);
    let (dot, before) = tokens.split_last()?;
    if dot.2 != "." || before.last()?.2 == "." {
        return None;
    }
    Some(DotAccess {
        receiver: start_of_expression(before)?,
        name: name.len(),
    })
}

/// Returns where the expression that ends with the last token begins: a chain of names, calls and `?`.
fn start_of_expression(tokens: &[(usize, TokenKind, &str)]) -> Option<usize> {
    let text = |at: usize| tokens[at].2;
    let mut at = tokens.len();
    loop {
        at = at.checked_sub(1)?;
        match text(at) {
            "?" => continue,
            ")" | "]" | "}" | ">" => {
                at = opening(tokens, at)?;
                // The expression before the brackets is called, indexed or has type arguments.
                let is_called = at > 0
                    && (is_name(text(at - 1)) && !is_keyword(text(at - 1))
                        || matches!(text(at - 1), ")" | "]" | "?" | "!" | ">" | ":"));
                if is_called {
                    // A macro: `vec![…]`.
                    at -= usize::from(text(at - 1) == "!");
                    // The path before types: `Vec::<u8>`.
                    while at > 0 && text(at - 1) == ":" {
                        at -= 1;
                    }
                    continue;
                }
            }
            name if is_name(name) && !is_keyword(name) => {}
            _ if matches!(tokens[at].1, TokenKind::Literal { .. }) => {}
            _ => return None,
        }
        let is_continued = at > 0 && matches!(text(at - 1), "." | ":");
        if !is_continued {
            return Some(tokens[at].0);
        }
        while at > 0 && matches!(text(at - 1), "." | ":") {
            at -= 1;
        }
    }
}

fn is_keyword(name: &str) -> bool {
    matches!(
        name,
        "return" | "in" | "if" | "match" | "while" | "else" | "let" | "mut" | "move"
    )
}

/// Returns the index of the bracket that the bracket at `at` closes.
fn opening(tokens: &[(usize, TokenKind, &str)], at: usize) -> Option<usize> {
    // Arrows and comparisons contain `>` too.
    let are_types = tokens[at].2 == ">";
    let mut depth = 0;
    for (index, (_, _, text)) in tokens[..=at].iter().enumerate().rev() {
        match *text {
            ")" | "]" | "}" => depth += 1,
            "(" | "[" | "{" => depth -= 1,
            ">" if are_types => depth += 1,
            "<" if are_types => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(index);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receiver_of_a_chain_is_found() {
        for (before, receiver) in [
            ("let y = ", "model."),
            ("", "Classifier::new(net, 0.1)."),
            ("a + ", "x.matmul(&y)?."),
            ("f(a, ", "rows[i + 1].len()."),
            ("return ", "vec![1, 2]."),
            ("", "f(|x: i32| -> bool { x > 1 })."),
            ("let v = ", "it.collect::<Vec<_>>()."),
            ("if ", "\"a. b\"."),
            ("x;\n", "a::b::<u8>(1)?\n    ."),
        ] {
            let code = format!("{before}{receiver}na");
            let access = dot_access(&code, code.len()).expect(receiver);
            assert_eq!(&code[access.receiver..access.name], receiver);
        }
        for code in ["0..n", "n", "&.n", ""] {
            assert_eq!(dot_access(code, code.len()), None, "{code}");
        }
    }
}
