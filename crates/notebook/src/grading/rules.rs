//! Whether a cell of a submission may run.

use super::depth::is_too_deep;
use super::names;
use super::stubs::Stubs;
use super::tested::Tested;
use super::words::{self, is_word};
use crate::document::nbgrader::{Mark, released};
use crate::document::notebook::Notebook;
use std::collections::BTreeSet;
use syn::Ident;
use taper_rust_cell::commands::{self, without_commands};
use taper_rust_cell::statements;

/// Characters that Rust reads as others in a name, so that a name of the assignment could be written with them: the signs for
/// kelvin, ångström and ohm, which are letters, and accents that follow their letter.
const OTHERS: fn(char) -> bool = |it| {
    matches!(
        it,
        '\u{212a}' | '\u{212b}' | '\u{2126}' | '\u{300}'..='\u{36f}'
    )
};

/// What the submissions for one assignment may contain.
#[derive(Default)]
pub(crate) struct Rules {
    /// What the cells of the assignment contain of the words that are refused, which submissions may use, too.
    words: BTreeSet<String>,
    /// The lines of the assignment that are commands.
    commands: BTreeSet<String>,
    tested: Tested,
    stubs: Stubs,
}

impl Rules {
    pub(crate) fn of(assignment: &Notebook) -> Rules {
        let marks = Mark::all(&assignment.document);
        let mut rules = Rules::default();
        for cell in &assignment.cells {
            rules
                .words
                .extend(words::refused(&words::tokens(&cell.source)));
            rules.commands.extend(commands::lines(&cell.source));
            let statements = statements(&without_commands(&cell.source)).unwrap_or_default();
            rules.stubs.add_traits(&statements);
            let mark = marks.iter().find(|mark| mark.position == cell.position);
            if mark.is_some_and(Mark::is_given) {
                rules.tested.add(&statements);
            } else {
                let is_solution = mark.is_some_and(|mark| mark.solution);
                let seen = words::tokens(&released(&cell.source, "code", is_solution));
                rules.stubs.add(&statements, is_solution, &seen);
            }
        }
        rules.stubs.keep_used(&mut rules.tested);
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
        if let Some(found) = words::refused(&tokens).difference(&self.words).next() {
            return Some(format!(
                "it uses `{found}`, which the assignment does not use"
            ));
        }
        let is_other = |it: &&String| is_word(it) && it.contains(OTHERS);
        if let Some(name) = tokens.iter().find(is_other) {
            return Some(format!("the name `{name}` is not in Unicode's form NFC"));
        }
        // `r#name` is `name`, unless that is a keyword.
        let is_name = |word: &str| syn::parse_str::<Ident>(word).is_ok();
        let is_raw = |it: &&String| it.strip_prefix("r#").is_some_and(is_name);
        if let Some(name) = tokens.iter().find(is_raw) {
            return Some(format!("it writes a name as `{name}`"));
        }
        let Ok(statements) = statements(&without_commands(source)) else {
            return Some("it is not valid Rust".to_owned());
        };
        names::refusal(&statements, &self.tested, &self.stubs)
    }
}
