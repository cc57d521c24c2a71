//! Tracks the names that cells define, to explain why one is missing.

use super::tokens::texts;
use crate::syntax::Syntax;
use ra_ap_syntax::ast::{self, AstNode, HasName};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use taper_evaluator::commands::Cell;

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

/// Why a name is missing.
#[derive(Debug)]
enum Reason {
    /// Moved by this line.
    Moved(String),
    TypeRedefined,
    Cleared,
    CellDidNotCompile,
    CellFailed,
    ProcessEnded,
}

/// The missing names with the reason, and the variables that exist.
#[derive(Debug, Default)]
pub(crate) struct Names {
    missing: BTreeMap<String, Reason>,
    present: BTreeSet<String>,
    /// The cells that define names, by name.
    sources: BTreeMap<String, Arc<str>>,
}

impl Names {
    /// Records that a cell has ended. `present` are the variables after it, and `dropped` those that the
    /// session dropped before it, as the cell redefines their type.
    pub(crate) fn cell_ended(
        &mut self,
        code: &str,
        outcome: Outcome,
        present: BTreeSet<String>,
        dropped: &[String],
    ) {
        let defined = definitions_in(code);
        let is_missing = |name: &&String| !present.contains(*name);
        for name in defined
            .items
            .iter()
            .filter(|_| outcome != Outcome::DidNotCompile)
        {
            self.missing.remove(name);
        }
        let undefined = match outcome {
            Outcome::DidNotCompile => defined.variables.union(&defined.items).collect(),
            _ => defined.variables.iter().collect::<BTreeSet<_>>(),
        };
        if outcome != Outcome::DidNotCompile {
            let source: Arc<str> = code.trim().into();
            let names = defined.variables.iter().chain(&defined.items);
            let sources = names.map(|name| (name.clone(), source.clone()));
            self.sources.extend(sources);
        }
        for name in self.present.iter().chain(undefined).filter(is_missing) {
            let reason = match outcome {
                _ if dropped.contains(name) => Reason::TypeRedefined,
                Outcome::ProcessEnded => Reason::ProcessEnded,
                Outcome::Ran if Cell::new(code).clear => Reason::Cleared,
                Outcome::DidNotCompile => Reason::CellDidNotCompile,
                Outcome::Failed if defined.variables.contains(name) => Reason::CellFailed,
                Outcome::Failed | Outcome::Ran => Reason::Moved(last_line_with(name, code)),
            };
            self.missing.insert(name.clone(), reason);
        }
        self.missing.retain(|name, _| !present.contains(name));
        self.present = present;
    }

    /// Returns whether the text after a `!` at the beginning of a line is Rust: `flag`, `flag && other`,
    /// `v.is_empty()`.
    pub(crate) fn negates_a_variable(&self, rest: &str) -> bool {
        let tokens = texts(rest);
        let Some((first, rest)) = tokens.split_first() else {
            return false;
        };
        let is_known = self.present.contains(*first) || matches!(*first, "true" | "false");
        is_known
            && matches!(
                rest.first(),
                None | Some(&("." | "[" | ";" | "&" | "|" | "=" | "!"))
            )
    }

    /// Returns the last cell that defined this name.
    pub(crate) fn source_of(&self, name: &str) -> Option<&str> {
        self.sources.get(name).map(|source| &**source)
    }

    /// Returns whether a variable of this name lives.
    pub(crate) fn is_variable(&self, name: &str) -> bool {
        self.present.contains(name)
    }

    /// Explains to the user why `name` is missing, if that is known.
    pub(crate) fn why_missing(&self, name: &str) -> Option<String> {
        Some(match self.missing.get(name)? {
            Reason::Moved(line) => format!(
                "an earlier cell moved `{name}`, in `{line}`. \
                 Borrow it there with `&{name}`, or pass a copy, `{name}.clone()`; then run the cell that makes `{name}` again."
            ),
            Reason::TypeRedefined => format!(
                "`{name}` is gone, because its type was redefined. Run the cell that makes `{name}` again."
            ),
            Reason::Cleared => {
                format!("`:clear` removed `{name}`. Run the cell that makes `{name}` again.")
            }
            Reason::CellDidNotCompile => format!(
                "the cell that makes `{name}` did not compile. Correct that cell and run it first."
            ),
            Reason::CellFailed => format!(
                "the cell that makes `{name}` ended with an error, and such a cell keeps none of its variables. \
                 Correct that cell and run it first."
            ),
            Reason::ProcessEnded => format!(
                "`{name}` was lost when the process in which all cells run ended. Run the cell that makes it again."
            ),
        })
    }
}

/// The names that a cell defines at its top level.
struct Definitions {
    variables: BTreeSet<String>,
    items: BTreeSet<String>,
}

fn definitions_in(code: &str) -> Definitions {
    let (mut variables, mut items) = (BTreeSet::new(), BTreeSet::new());
    let text = |name: Option<ast::Name>| name.map(|name| name.text().to_string());
    for statement in Syntax::of(code).statements() {
        match statement {
            ast::Stmt::LetStmt(it) => {
                let parts = it.pat().into_iter();
                let parts = parts.flat_map(|pattern| pattern.syntax().descendants());
                let names = parts.filter_map(|part| text(ast::IdentPat::cast(part)?.name()));
                // One with a capital letter is a constant or a unit struct.
                variables.extend(names.filter(|name| !name.starts_with(char::is_uppercase)));
            }
            ast::Stmt::Item(it) => {
                let named = ast::AnyHasName::cast(it.syntax().clone());
                items.extend(named.and_then(|it| text(it.name())));
            }
            ast::Stmt::ExprStmt(_) => {}
        }
    }
    Definitions { variables, items }
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
    fn the_names_at_the_top_level_are_found() {
        let defined = definitions_in(
            "let mut a = { let b = 1; b };\nlet (c, _) = (1, 2);\nlet P { x, y: z }: P = p;\nfn f(q: u8) {}\nstruct S;",
        );
        assert_eq!(defined.variables, set(&["a", "c", "x", "z"]));
        assert_eq!(defined.items, set(&["S", "f"]));
    }

    #[test]
    fn a_known_name_after_an_exclamation_mark_is_rust() {
        let mut names = Names::default();
        names.cell_ended("let flag = true;", Ran, set(&["flag"]), &[]);
        for (rest, is_rust) in [
            ("flag", true),
            ("flag && true", true),
            ("true", true),
            ("ls", false),
            ("flag -l", false),
            ("", false),
        ] {
            assert_eq!(names.negates_a_variable(rest), is_rust, "{rest}");
        }
    }

    #[test]
    fn each_reason_is_given_until_the_name_is_defined_again() {
        let mut names = Names::default();
        names.cell_ended("let a = v();\nlet b = 1;", Ran, set(&["a", "b"]), &[]);
        names.cell_ended("let c = 1;\nlet d = a;", Ran, set(&["b", "c", "d"]), &[]);
        assert!(
            names
                .why_missing("a")
                .is_some_and(|why| why.contains("`let d = a;`"))
        );
        names.cell_ended("let e = f()?;", Failed, set(&["b", "c", "d"]), &[]);
        assert!(
            names
                .why_missing("e")
                .is_some_and(|why| why.contains("ended with an error"))
        );
        names.cell_ended("fn g() { 1 }", DidNotCompile, set(&["b", "c", "d"]), &[]);
        assert!(
            names
                .why_missing("g")
                .is_some_and(|why| why.contains("did not compile"))
        );
        names.cell_ended("struct T;", Ran, set(&["b", "c"]), &["d".to_owned()]);
        assert!(
            names
                .why_missing("d")
                .is_some_and(|why| why.contains("redefined"))
        );
        names.cell_ended("fn g() {}\nlet a = 1;", Ran, set(&["a", "b", "c"]), &[]);
        assert_eq!(
            (names.why_missing("a"), names.why_missing("g")),
            (None, None)
        );
        assert_eq!(names.source_of("g"), Some("fn g() {}\nlet a = 1;"));
        names.cell_ended(":clear", Ran, set(&[]), &[]);
        assert!(
            names
                .why_missing("a")
                .is_some_and(|why| why.contains("`:clear` removed"))
        );
        names.cell_ended("let b = 1;", Ran, set(&["b"]), &[]);
        names.cell_ended("abort()", ProcessEnded, set(&[]), &[]);
        assert!(
            names
                .why_missing("b")
                .is_some_and(|why| why.contains("was lost"))
        );
    }
}
