//! Whether a cell of a submission may run.

use super::depth::is_too_deep;
use super::names;
use super::stubs::Stubs;
use super::tested::Tested;
use super::words::{self, Token};
use crate::document::nbgrader::Mark;
use crate::document::notebook::Notebook;
use std::collections::BTreeSet;
use taper_rust_cell::commands::{self, without_commands};
use taper_rust_cell::statements;

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
        let trusted: BTreeSet<usize> = Mark::all(&assignment.document)
            .iter()
            .filter(|mark| mark.is_given())
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
            let statements = statements(&without_commands(&cell.source)).unwrap_or_default();
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
        if is_too_deep(source) {
            return Some("it nests its expressions too deeply".to_owned());
        }
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
        let Ok(statements) = statements(&without_commands(source)) else {
            return Some("it is not valid Rust".to_owned());
        };
        names::refusal(&statements, &self.tested, &self.stubs)
    }
}
