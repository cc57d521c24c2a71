//! What became of the names that cells made: why one that a student uses is not there.

use super::tokens::{depth_after, is_name, texts};
use std::collections::{BTreeMap, BTreeSet};

/// How a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ran,
    DidNotCompile,
    /// It panicked, or a `?` failed.
    Failed,
    /// The process in which the variables live ended.
    ProcessEnded,
}

#[derive(Debug)]
enum Fate {
    /// The line that took the value.
    Moved(String),
    OfAnOldType,
    CellDidNotCompile,
    CellFailed,
    ProcessEnded,
}

/// The names that are not there, and why; and the variables that are.
#[derive(Debug, Default)]
pub(crate) struct Names {
    gone: BTreeMap<String, Fate>,
    there: BTreeSet<String>,
}

impl Names {
    /// Takes note of a cell that has ended; `let_go` names what was given up before it ran.
    pub(crate) fn cell_ended(
        &mut self,
        code: &str,
        outcome: Outcome,
        there: BTreeSet<String>,
        let_go: &[String],
    ) {
        let made = made_by(code);
        let missing = |name: &&String| !there.contains(*name);
        for name in made
            .items
            .iter()
            .filter(|_| outcome != Outcome::DidNotCompile)
        {
            self.gone.remove(name);
        }
        let never_there = match outcome {
            Outcome::DidNotCompile => made.variables.union(&made.items).collect(),
            _ => made.variables.iter().collect::<BTreeSet<_>>(),
        };
        for name in self.there.iter().chain(never_there).filter(missing) {
            let fate = match outcome {
                _ if let_go.contains(name) => Fate::OfAnOldType,
                Outcome::ProcessEnded => Fate::ProcessEnded,
                Outcome::DidNotCompile => Fate::CellDidNotCompile,
                Outcome::Failed if made.variables.contains(name) => Fate::CellFailed,
                Outcome::Failed | Outcome::Ran => Fate::Moved(last_line_with(name, code)),
            };
            self.gone.insert(name.clone(), fate);
        }
        self.gone.retain(|name, _| !there.contains(name));
        self.there = there;
    }

    /// For the student who uses `name` and finds that it is not there.
    pub(crate) fn why_gone(&self, name: &str) -> Option<String> {
        Some(match self.gone.get(name)? {
            Fate::Moved(line) => format!(
                "an earlier cell gave `{name}` away, in `{line}`. \
                 Lend it there with `&{name}`, or give a copy with `{name}.clone()`; then run the cell that makes `{name}` again."
            ),
            Fate::OfAnOldType => format!(
                "`{name}` is gone, because its type was redefined. Run the cell that makes `{name}` again."
            ),
            Fate::CellDidNotCompile => format!(
                "the cell that makes `{name}` did not compile. Correct that cell and run it first."
            ),
            Fate::CellFailed => format!(
                "the cell that makes `{name}` ended with an error, and such a cell keeps none of its variables. \
                 Correct that cell and run it first."
            ),
            Fate::ProcessEnded => format!(
                "`{name}` was lost when the process in which all cells run ended. Run the cell that makes it again."
            ),
        })
    }
}

/// The names that a cell defines at its top level.
struct Made {
    variables: BTreeSet<String>,
    items: BTreeSet<String>,
}

const ITEMS: [&str; 8] = [
    "fn", "struct", "enum", "union", "trait", "type", "const", "static",
];

fn made_by(code: &str) -> Made {
    let tokens = texts(code);
    let (mut variables, mut items) = (BTreeSet::new(), BTreeSet::new());
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).filter(|next| is_name(next));
        match (*token, next) {
            ("let", _) if depth == 0 => variables.extend(names_of_pattern(&tokens[at + 1..])),
            (token, Some(name)) if depth == 0 && ITEMS.contains(&token) => {
                items.insert((*name).to_owned());
            }
            _ => {}
        }
        depth = depth_after(depth, token);
    }
    Made { variables, items }
}

/// `mut a`, `(a, b): (u8, u8)`, `Point { x, y }`, each up to the `=`.
fn names_of_pattern(tokens: &[&str]) -> Vec<String> {
    let mut depth = 0;
    let mut names = Vec::new();
    for &token in tokens {
        if matches!(token, "=" | ";") || (token == ":" && depth == 0) {
            break;
        }
        let is_variable =
            is_name(token) && token.starts_with(|c: char| c.is_lowercase() || c == '_');
        if is_variable && !matches!(token, "mut" | "ref" | "_") {
            names.push(token.to_owned());
        }
        depth = depth_after(depth, token);
    }
    names
}

fn last_line_with(name: &str, code: &str) -> String {
    let has_it = |line: &&str| texts(line).contains(&name);
    let line = code.lines().rfind(has_it).or(code.lines().last());
    line.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn the_names_at_the_top_of_a_cell_are_found() {
        let made = made_by(
            "let mut a = { let b = 1; b };\nlet (c, _) = (1, 2);\nlet P { x, y: z }: P = p;\nfn f(q: u8) {}\nstruct S;",
        );
        assert_eq!(made.variables, set(&["a", "c", "x", "y", "z"]));
        assert_eq!(made.items, set(&["S", "f"]));
    }

    #[test]
    fn each_fate_is_told_until_the_name_is_back() {
        let mut names = Names::default();
        names.cell_ended("let a = v();\nlet b = 1;", Ran, set(&["a", "b"]), &[]);
        names.cell_ended("let c = 1;\nlet d = a;", Ran, set(&["b", "c", "d"]), &[]);
        assert!(
            names
                .why_gone("a")
                .is_some_and(|why| why.contains("`let d = a;`"))
        );
        names.cell_ended("let e = f()?;", Failed, set(&["b", "c", "d"]), &[]);
        assert!(
            names
                .why_gone("e")
                .is_some_and(|why| why.contains("ended with an error"))
        );
        names.cell_ended("fn g() { 1 }", DidNotCompile, set(&["b", "c", "d"]), &[]);
        assert!(
            names
                .why_gone("g")
                .is_some_and(|why| why.contains("did not compile"))
        );
        names.cell_ended("struct T;", Ran, set(&["b", "c"]), &["d".to_owned()]);
        assert!(
            names
                .why_gone("d")
                .is_some_and(|why| why.contains("redefined"))
        );
        names.cell_ended("fn g() {}\nlet a = 1;", Ran, set(&["a", "b", "c"]), &[]);
        assert_eq!((names.why_gone("a"), names.why_gone("g")), (None, None));
        names.cell_ended("abort()", ProcessEnded, set(&[]), &[]);
        assert!(
            names
                .why_gone("b")
                .is_some_and(|why| why.contains("was lost"))
        );
    }
}
