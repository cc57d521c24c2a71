//! Finds types that a cell redefines while variables of them exist.
//!
//! evcxr compiles the next cell with the new definition and passes the old value to it. It notices
//! when the names of the fields have changed, and then loses the variables of the cell as well. When
//! only a field's type has changed it does not notice, and the cell misreads the memory of the value.
//! So the session drops such variables before the cell runs.

use super::tokens::{depth_after, is_name, texts as tokens};
use std::collections::{BTreeMap, BTreeSet};

/// The current definitions of types: their tokens by name.
#[derive(Debug, Default)]
pub(crate) struct Types {
    definitions: BTreeMap<String, Vec<String>>,
}

impl Types {
    /// Returns the types that `code` redefines differently, and those that contain them.
    pub(crate) fn changed_by(&self, code: &str) -> BTreeSet<String> {
        let new = definitions(code).into_iter();
        let mut changed: BTreeSet<String> = new
            .filter(|(name, tokens)| self.definitions.get(name).is_some_and(|old| old != tokens))
            .map(|(name, _)| name)
            .collect();
        loop {
            let containing = self
                .definitions
                .iter()
                .filter(|(_, tokens)| tokens.iter().any(|t| changed.contains(t)));
            let more: Vec<String> = containing.map(|(name, _)| name.clone()).collect();
            let before = changed.len();
            changed.extend(more);
            if changed.len() == before {
                return changed;
            }
        }
    }

    /// Records the definitions of a cell that ran.
    pub(crate) fn record(&mut self, code: &str) {
        self.definitions.extend(definitions(code));
    }
}

/// Returns whether the type of a variable, as evcxr names it, contains one of these types.
pub(crate) fn contains_any(variable_type: &str, types: &BTreeSet<String>) -> bool {
    tokens(variable_type)
        .iter()
        .any(|token| types.contains(*token))
}

/// Returns the structs, enums, unions and type aliases at the top level of a cell.
fn definitions(code: &str) -> Vec<(String, Vec<String>)> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    let (mut depth, mut at) = (0_usize, 0);
    while at < tokens.len() {
        if depth == 0 && is_definition(&tokens[at..]) {
            let end = at + length(&tokens[at..]);
            let text = tokens[at..end].iter().map(|&token| token.to_owned());
            found.push((tokens[at + 1].to_owned(), text.collect()));
            at = end;
            continue;
        }
        depth = depth_after(depth, tokens[at]);
        at += 1;
    }
    found
}

fn is_definition(tokens: &[&str]) -> bool {
    matches!(tokens, ["struct" | "enum" | "union" | "type", name, ..] if is_name(name))
}

/// Returns the number of tokens up to the `;` or the last `}` of a definition.
fn length(tokens: &[&str]) -> usize {
    let mut depth = 0;
    for (index, &token) in tokens.iter().enumerate() {
        depth = depth_after(depth, token);
        if depth == 0 && matches!(token, ";" | "}") {
            return index + 1;
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(before: &[&str], code: &str) -> Vec<String> {
        let mut types = Types::default();
        before.iter().for_each(|cell| types.record(cell));
        types.changed_by(code).into_iter().collect()
    }

    #[test]
    fn formatting_does_not_change_a_definition() {
        let before = ["#[derive(Debug)]\nstruct P { x: i32 }\nlet p = P { x: 1 };"];
        assert!(changed(&before, "struct P {\n    x: i32 // across\n}").is_empty());
        assert!(changed(&before, "fn f() { struct P { y: u8 } }\nstruct Q;").is_empty());
    }

    #[test]
    fn a_changed_type_changes_those_that_contain_it() {
        let before = [
            "struct P(i32);",
            "enum Q { A, B(Vec<P>) }\ntype R = Option<Q>;",
            "struct S;",
        ];
        assert_eq!(changed(&before, "pub struct P(i64);"), ["P", "Q", "R"]);
        assert_eq!(changed(&before, "enum Q { A }"), ["Q", "R"]);
    }

    #[test]
    fn a_type_contains_the_types_it_names() {
        let types = BTreeSet::from(["P".to_owned()]);
        assert!(contains_any("Vec<(P, i32)>", &types));
        assert!(!contains_any("Vec<Pt>", &types));
    }
}
