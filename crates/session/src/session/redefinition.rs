//! Types that a cell defines anew while variables of them live.
//!
//! evcxr compiles the next cell against the new definition and hands it the old value. It notices
//! when the names of the fields changed, and then loses the variable that the cell makes as well;
//! when only a field's type changed it does not notice, and the cell reads memory that is something
//! else. So the session lets go of such variables before the cell runs.

use super::tokens::{depth_after, is_name, texts as tokens};
use std::collections::{BTreeMap, BTreeSet};

/// The definitions of types that hold, by name, as lists of their tokens.
#[derive(Debug, Default)]
pub(crate) struct Types {
    definitions: BTreeMap<String, Vec<String>>,
}

impl Types {
    /// The types that `code` defines in another way than now, and those that are made of them.
    pub(crate) fn changed_by(&self, code: &str) -> BTreeSet<String> {
        let new = definitions(code).into_iter();
        let mut changed: BTreeSet<String> = new
            .filter(|(name, tokens)| self.definitions.get(name).is_some_and(|old| old != tokens))
            .map(|(name, _)| name)
            .collect();
        loop {
            let made_of_them = self
                .definitions
                .iter()
                .filter(|(_, tokens)| tokens.iter().any(|t| changed.contains(t)));
            let more: Vec<String> = made_of_them.map(|(name, _)| name.clone()).collect();
            let before = changed.len();
            changed.extend(more);
            if changed.len() == before {
                return changed;
            }
        }
    }

    /// Takes over what a cell that ran has defined.
    pub(crate) fn learn(&mut self, code: &str) {
        self.definitions.extend(definitions(code));
    }
}

/// Whether the type of a variable, as evcxr names it, is made of one of these types.
pub(crate) fn is_made_of(variable_type: &str, types: &BTreeSet<String>) -> bool {
    tokens(variable_type)
        .iter()
        .any(|token| types.contains(*token))
}

/// The structs, enums, unions and aliases at the top level of a cell.
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

/// To the `;` or the last `}` of a definition.
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
        before.iter().for_each(|cell| types.learn(cell));
        types.changed_by(code).into_iter().collect()
    }

    #[test]
    fn the_same_definition_in_other_clothes_is_the_same() {
        let before = ["#[derive(Debug)]\nstruct P { x: i32 }\nlet p = P { x: 1 };"];
        assert!(changed(&before, "struct P {\n    x: i32 // across\n}").is_empty());
        assert!(changed(&before, "fn f() { struct P { y: u8 } }\nstruct Q;").is_empty());
    }

    #[test]
    fn a_changed_type_changes_those_made_of_it() {
        let before = [
            "struct P(i32);",
            "enum Q { A, B(Vec<P>) }\ntype R = Option<Q>;",
            "struct S;",
        ];
        assert_eq!(changed(&before, "pub struct P(i64);"), ["P", "Q", "R"]);
        assert_eq!(changed(&before, "enum Q { A }"), ["Q", "R"]);
    }

    #[test]
    fn a_variable_is_known_by_the_names_in_its_type() {
        let types = BTreeSet::from(["P".to_owned()]);
        assert!(is_made_of("Vec<(P, i32)>", &types));
        assert!(!is_made_of("Vec<Pt>", &types));
    }
}
