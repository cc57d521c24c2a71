//! Tracks the names that cells define, to explain why one is missing.

use super::definitions::{Definitions, has_derive};
use super::tokens::texts;
use crate::syntax::Syntax;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use taper_rust_cell::commands::Cell;

/// How a cell ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ran,
    /// What precedes its Rust has failed: `:dep`, or a command of the shell.
    DidNotBegin,
    DidNotCompile,
    /// It panicked, or a `?` failed.
    Failed,
    /// It was interrupted.
    Stopped,
    /// The process in which the variables live ended.
    ProcessEnded,
    /// It was interrupted and did not stop, and goes on.
    Left,
}

/// What a cell has done to the variables of earlier cells, as its engine reports it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    /// Variables that are lost, because the cell changed their type.
    pub(crate) lost: Vec<String>,
    /// Variables that the cell moved; `None` if the engine does not know.
    pub(crate) moved: Option<Vec<String>>,
}

/// The missing names with a sentence that says why, and the variables that exist.
#[derive(Debug, Default)]
pub(crate) struct Names {
    missing: BTreeMap<String, String>,
    present: BTreeSet<String>,
    /// Types, functions and other items of all cells.
    items: BTreeSet<String>,
    /// The cells that define names, by name.
    sources: BTreeMap<String, Arc<str>>,
    /// Imports of all names of a module that have failed.
    failed_globs: BTreeSet<String>,
}

impl Names {
    /// Records that a cell has ended. `present` are the variables after it.
    pub(crate) fn cell_ended(
        &mut self,
        code: &str,
        outcome: Outcome,
        present: BTreeSet<String>,
        changes: &Changes,
    ) {
        let defined = Definitions::of(code);
        let has_items = !matches!(outcome, Outcome::DidNotBegin | Outcome::DidNotCompile);
        self.note_imports(&defined, has_items);
        if has_items {
            for name in &defined.items {
                self.missing.remove(name);
            }
            self.items.extend(defined.items.iter().cloned());
            let source: Arc<str> = code.trim().into();
            let names = defined.variables.iter().chain(&defined.items);
            let sources = names.map(|name| (name.clone(), source.clone()));
            self.sources.extend(sources);
        }
        let undefined = match has_items {
            true => defined.variables.iter().collect::<BTreeSet<_>>(),
            false => defined.variables.union(&defined.items).collect(),
        };
        let is_hidden = |name: &String| has_items && defined.items.contains(name);
        let was_present = &self.present;
        let missing = was_present.iter().chain(undefined);
        let missing = missing.filter(|name| !present.contains(*name) && !is_hidden(name));
        let reason = |name: &String| {
            let is_of_cell = defined.variables.contains(name);
            let is_moved = match &changes.moved {
                Some(moved) => moved.contains(name) || is_of_cell && is_used_again(name, code),
                None => true,
            };
            let is_new = is_of_cell && !was_present.contains(name);
            match outcome {
                _ if changes.lost.contains(name) => gone(name, "its type was redefined"),
                Outcome::ProcessEnded => format!(
                    "`{name}` was lost when the process in which all cells run ended. Run the cell that makes it again."
                ),
                Outcome::Ran if Cell::new(code).clear => {
                    format!("`:clear` removed `{name}`. Run the cell that makes `{name}` again.")
                }
                Outcome::DidNotBegin => format!(
                    "the cell that makes `{name}` did not run, because a command before its Rust failed. Run it again \
                     first."
                ),
                Outcome::DidNotCompile => format!(
                    "the cell that makes `{name}` did not compile. Correct that cell and run it first."
                ),
                Outcome::Left if was_present.contains(name) => format!(
                    "`{name}` was lost when a cell did not stop and was left to itself. Run the cell that makes `{name}` \
                     again."
                ),
                Outcome::Failed if is_new => format!(
                    "the cell that makes `{name}` ended with an error, and such a cell keeps none of its variables. \
                     Correct that cell and run it first."
                ),
                Outcome::Stopped | Outcome::Left if is_new => format!(
                    "the cell that makes `{name}` was interrupted, and such a cell keeps none of its variables. Run it \
                     first."
                ),
                _ if is_moved => why_moved(name, last_line_with(name, code).as_deref()),
                _ => {
                    format!("`{name}` is no longer there. Run the cell that makes `{name}` again.")
                }
            }
        };
        let missing: Vec<_> = missing.map(|name| (name.clone(), reason(name))).collect();
        self.missing.extend(missing);
        self.missing.retain(|name, _| !present.contains(name));
        self.present = present;
    }

    /// Records which imports of a cell have failed.
    fn note_imports(&mut self, defined: &Definitions, is_done: bool) {
        for (name, import) in &defined.imports {
            match is_done {
                true => drop(self.missing.remove(name)),
                false => {
                    let why = format!(
                        "`{import}` failed in an earlier cell. Correct that cell and run it first."
                    );
                    self.missing.insert(name.clone(), why);
                }
            }
        }
        for import in &defined.globs {
            match is_done {
                true => self.failed_globs.remove(import),
                false => self.failed_globs.insert(import.clone()),
            };
        }
    }

    /// Records that variables and items are gone, because a package was replaced, and which variables are left.
    pub(crate) fn replaced(
        &mut self,
        names: impl Iterator<Item = String>,
        why: &str,
        present: BTreeSet<String>,
    ) {
        for name in names {
            self.items.remove(&name);
            let why = gone(&name, why);
            self.missing.insert(name, why);
        }
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

    /// Returns whether a cell has defined a type, a function or another item of this name.
    pub(crate) fn is_item(&self, name: &str) -> bool {
        self.items.contains(name)
    }

    /// Returns whether the cell that defines a type derives this trait for it.
    pub(crate) fn has_derive(&self, kind: &str, of: &str) -> bool {
        self.source_of(kind)
            .is_some_and(|cell| has_derive(&Syntax::of(cell), kind, of))
    }

    /// Returns whether a variable of this name lives.
    pub(crate) fn is_variable(&self, name: &str) -> bool {
        self.present.contains(name)
    }

    /// Returns the imports of all names of a module that have failed, of which a name may be missing.
    pub(crate) fn failed_globs(&self) -> impl Iterator<Item = &str> {
        self.failed_globs.iter().map(|import| &**import)
    }

    /// Explains to the user why `name` is missing, if that is known.
    pub(crate) fn why_missing(&self, name: &str) -> Option<&str> {
        self.missing.get(name).map(String::as_str)
    }
}

fn gone(name: &str, why: &str) -> String {
    format!("`{name}` is gone, because {why}. Run the cell that makes `{name}` again.")
}

/// Says how not to move a variable, given the line that moved it.
fn why_moved(name: &str, line: Option<&str>) -> String {
    let Some(line) = line else {
        return format!("an earlier cell moved `{name}`. Run the cell that makes `{name}` again.");
    };
    let tokens = texts(line);
    let uses = tokens.iter().rposition(|token| *token == name);
    let is_receiver = uses.is_some_and(|at| tokens.get(at + 1) == Some(&"."));
    let how = match is_receiver {
        true => format!("Use a copy there, `{name}.clone()`"),
        false => format!("Borrow it there with `&{name}`, or pass a copy, `{name}.clone()`"),
    };
    format!(
        "an earlier cell moved `{name}`, in `{line}`. {how}; then run the cell that makes `{name}` again."
    )
}

/// Returns whether a cell uses a name that it defines.
fn is_used_again(name: &str, code: &str) -> bool {
    let tokens = texts(code);
    tokens.iter().filter(|token| **token == name).count() > 1
}

/// Returns the last line that names a variable.
fn last_line_with(name: &str, code: &str) -> Option<String> {
    let has_it = |line: &&str| texts(line).contains(&name);
    let line = code.lines().rfind(has_it)?;
    Some(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_known_name_after_an_exclamation_mark_is_rust() {
        let mut names = Names::default();
        names.cell_ended("let flag = true;", Ran, set(&["flag"]), &moved(&[]));
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

    /// Returns the changes of a cell that moves these variables.
    fn moved(names: &[&str]) -> Changes {
        Changes {
            lost: Vec::new(),
            moved: Some(names.iter().map(|&name| name.to_owned()).collect()),
        }
    }

    #[track_caller]
    fn assert_says(names: &Names, name: &str, phrase: &str) {
        let why = names.why_missing(name).unwrap_or_default();
        assert!(why.contains(phrase), "{name}: {why}");
    }

    #[test]
    fn each_reason_is_given_until_the_name_is_defined_again() {
        let mut names = Names::default();
        let none = moved(&[]);
        names.cell_ended("let a = v();\nlet b = 1;", Ran, set(&["a", "b"]), &none);
        let present = set(&["b", "c", "d"]);
        names.cell_ended(
            "let c = 1;\nlet d = a;",
            Ran,
            present.clone(),
            &moved(&["a"]),
        );
        assert_says(&names, "a", "`let d = a;`");
        names.cell_ended("let e = f()?;", Failed, present.clone(), &none);
        assert_says(&names, "e", "ended with an error");
        names.cell_ended("let i = 1; loop {}", Stopped, present.clone(), &none);
        assert_says(&names, "i", "was interrupted");
        names.cell_ended("fn g() { 1 }", DidNotCompile, present.clone(), &none);
        assert_says(&names, "g", "did not compile");
        names.cell_ended("let h = g();", DidNotBegin, present, &none);
        assert_says(&names, "h", "a command before its Rust failed");
        let lost = Changes {
            lost: vec!["d".to_owned()],
            ..none.clone()
        };
        names.cell_ended("struct T;", Ran, set(&["b", "c"]), &lost);
        assert_says(&names, "d", "redefined");
        let present = set(&["a", "b", "c"]);
        names.cell_ended("fn g() {}\nlet a = 1;", Ran, present, &none);
        assert_eq!(
            (names.why_missing("a"), names.why_missing("g")),
            (None, None)
        );
        assert_eq!(names.source_of("g"), Some("fn g() {}\nlet a = 1;"));
        names.cell_ended(":clear", Ran, set(&[]), &none);
        assert_says(&names, "a", "`:clear` removed");
        names.cell_ended("let b = 1;", Ran, set(&["b"]), &none);
        names.cell_ended("abort()", ProcessEnded, set(&[]), &none);
        assert_says(&names, "b", "was lost");
    }

    #[test]
    fn only_what_a_cell_has_moved_is_called_moved() {
        let mut names = Names::default();
        names.cell_ended(
            "let a = 1;\nlet b = v();",
            Ran,
            set(&["a", "b"]),
            &moved(&[]),
        );
        names.cell_ended("a;\nb.unwrap()", Failed, set(&[]), &moved(&["b"]));
        assert_says(&names, "a", "`a` is no longer there");
        assert_says(
            &names,
            "b",
            "in `b.unwrap()`. Use a copy there, `b.clone()`",
        );
        // Moved by a macro, which names it.
        names.cell_ended("let c = v();", Ran, set(&["c"]), &moved(&[]));
        names.cell_ended("take_all!();", Ran, set(&[]), &moved(&["c"]));
        assert_says(&names, "c", "an earlier cell moved `c`. Run");
        // The engine does not know what is moved.
        names.cell_ended("let d = v();", Ran, set(&["d"]), &moved(&[]));
        names.cell_ended("f(d)", Ran, set(&[]), &Changes::default());
        assert_says(&names, "d", "in `f(d)`. Borrow it there with `&d`");
        // Within its own cell.
        names.cell_ended(
            "let e = v();\nf(e);\nlet g = h();",
            Ran,
            set(&[]),
            &moved(&[]),
        );
        assert_says(&names, "e", "in `f(e);`");
        assert_says(&names, "g", "`g` is no longer there");
        // An item hides it.
        names.cell_ended("let x = 1;", Ran, set(&["x"]), &moved(&[]));
        names.cell_ended("const x: i32 = 2;", Ran, set(&[]), &moved(&[]));
        assert_eq!(names.why_missing("x"), None);
    }

    #[test]
    fn what_a_failed_import_would_bring_is_missing() {
        let mut names = Names::default();
        let none = moved(&[]);
        let cell = "use a::{b, c::D as E};\nuse f::prelude::*;";
        names.cell_ended(cell, DidNotCompile, set(&[]), &none);
        assert_says(&names, "b", "`use a::{b, c::D as E};` failed");
        assert_says(&names, "E", "failed in an earlier cell");
        assert_eq!(names.why_missing("D"), None);
        assert_eq!(
            names.failed_globs().collect::<Vec<_>>(),
            ["use f::prelude::*;"]
        );
        names.cell_ended(cell, Ran, set(&[]), &none);
        assert_eq!(names.why_missing("b"), None);
        assert_eq!(names.failed_globs().count(), 0);
    }
}
