//! What the cells of a submission may contain, so that they cannot change what the tests mean.
//!
//! Cells of a notebook share one process and one set of names: a macro that a student names `assert_eq`, a trait with a
//! method `dims`, or a solution that returns a type of its own would decide what a test compares. A cell of a submission
//! is therefore not run if it
//!
//! - uses what reaches beyond safe Rust or out of its process (`words`), unless the assignment itself uses it;
//! - contains a command that the assignment does not contain (`commands`);
//! - defines a name that the tests use (`names`), other than as the assignment's own cells define it (`stubs`).
//!
//! The tests and the locked cells come from the assignment ([`crate::document::nbgrader`]) and are not checked.

mod commands;
mod names;
mod patterns;
mod stubs;
mod tested;
#[cfg(test)]
mod tests;
mod words;

use crate::document::nbgrader::{Mark, restore};
use crate::document::notebook::Notebook;
use crate::export::rust_cell::parse_statements;
use std::collections::BTreeSet;
use stubs::Stubs;
use tested::Tested;
use words::Token;

/// What the submissions for one assignment may contain.
pub(crate) struct Rules {
    /// The words of all cells of the assignment, which submissions may use, too.
    words: BTreeSet<String>,
    /// The lines of the assignment that are commands.
    commands: BTreeSet<String>,
    tested: Tested,
    stubs: Stubs,
}

impl Rules {
    pub(crate) fn of(assignment: &Notebook) -> Rules {
        let trusted: BTreeSet<usize> = Mark::all(assignment)
            .iter()
            .filter(|mark| mark.is_of_the_assignment())
            .map(|mark| mark.position)
            .collect();
        let mut rules = Rules {
            words: BTreeSet::new(),
            commands: BTreeSet::new(),
            tested: Tested::default(),
            stubs: Stubs::default(),
        };
        for cell in &assignment.cells {
            let tokens = words::tokens(&cell.source);
            rules.words.extend(tokens.iter().filter_map(Token::word));
            rules.commands.extend(commands::lines(&cell.source));
            let statements = parse_statements(&cell.source).unwrap_or_default();
            if trusted.contains(&cell.position) {
                rules.tested.add(&statements);
            } else {
                rules.stubs.add(&statements);
            }
        }
        rules.tested.add_types(&rules.stubs);
        rules
    }

    /// Returns why the cell of a submission is not run, or `None` if it may run.
    pub(crate) fn refusal(&self, source: &str) -> Option<String> {
        if let Some(line) = commands::lines(source).find(|line| !self.commands.contains(line)) {
            return Some(format!(
                "it contains the command `{line}`, which the assignment does not contain"
            ));
        }
        if commands::is_script(source) {
            return None;
        }
        let tokens = words::tokens(source);
        if let Some(found) = words::refused(&tokens, &self.words) {
            return Some(format!(
                "it uses `{found}`, which the assignment does not use"
            ));
        }
        let Some(statements) = parse_statements(source) else {
            return Some("it is not valid Rust".to_owned());
        };
        names::refusal(&statements, &self.tested, &self.stubs)
    }

    /// Replaces the tests and the locked cells of a submission by those of the assignment, and marks the other cells
    /// that must not run.
    pub(crate) fn apply(&self, submission: &mut Notebook, assignment: &Notebook) {
        let restored = restore(submission, assignment);
        for cell in &mut submission.cells {
            if !restored.contains(&cell.position) {
                cell.refusal = self.refusal(&cell.source);
            }
        }
    }
}
