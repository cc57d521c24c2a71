//! The tables of hints, which are data: `hints.toml`.

use crate::translations::said;
use serde::Deserialize;
use std::sync::LazyLock;
use taper_rust_cell::commands::table::COMMANDS;

/// What is looked for, and the hint.
type Row = (String, String);

/// The tables of `hints.toml`, each described there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::session::diagnostics) struct Tables {
    pub(super) python_syntax: Vec<Row>,
    pub(super) python_functions: Vec<Row>,
    pub(super) python_types: Vec<Row>,
    pub(super) python_names: Vec<Row>,
    pub(super) tensor_missing: Vec<Row>,
    pub(super) tensor_arguments: Vec<Row>,
    /// Not translated.
    pub(super) rules: Vec<(String, String, String, String)>,
    pub(super) errors: Vec<(String, String, String)>,
    pub(in crate::session::diagnostics) panics: Vec<(String, String, String)>,
}

pub(in crate::session::diagnostics) static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let mut tables = Tables::read();
    tables
        .hints()
        .for_each(|hint| *hint = said(hint).to_owned());
    tables
});

impl Tables {
    fn read() -> Tables {
        toml::from_str(include_str!("hints.toml")).expect("the tables of hints")
    }

    fn hints(&mut self) -> impl Iterator<Item = &mut String> {
        let words = [
            &mut self.python_syntax,
            &mut self.python_functions,
            &mut self.python_types,
            &mut self.python_names,
            &mut self.tensor_missing,
            &mut self.tensor_arguments,
        ];
        let texts = [&mut self.errors, &mut self.panics];
        let of_words = words.into_iter().flatten().map(|(_, hint)| hint);
        of_words.chain(texts.into_iter().flatten().map(|(_, _, hint)| hint))
    }
}

/// Returns the English sentences that can be translated: those of `:help`, and the hints.
pub fn sentences() -> impl Iterator<Item = String> {
    let mut hints: Vec<String> = Tables::read().hints().map(|hint| hint.clone()).collect();
    hints.sort_unstable();
    hints.dedup();
    let commands = COMMANDS.iter().map(|command| command.summary.to_owned());
    commands.chain(hints)
}

/// Returns the hint for a word.
pub(super) fn hint_for(table: &'static [Row], word: &str) -> Option<&'static str> {
    let (_, hint) = table.iter().find(|(known, _)| known == word)?;
    Some(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_row_is_found_and_says_a_whole_sentence() {
        let tables = &*TABLES;
        let words = [
            &tables.python_syntax,
            &tables.python_functions,
            &tables.python_types,
            &tables.python_names,
            &tables.tensor_missing,
            &tables.tensor_arguments,
        ];
        for table in words {
            let mut seen = HashSet::new();
            for (word, hint) in table {
                assert!(seen.insert(word), "`{word}` occurs twice");
                is_sentence(hint);
            }
        }
        for table in [&tables.errors, &tables.panics] {
            let mut seen = HashSet::new();
            for (begin, end, hint) in table {
                assert!(seen.insert((begin, end)), "`{begin}` occurs twice");
                is_sentence(hint);
            }
        }
    }

    fn is_sentence(hint: &str) {
        assert!(hint.ends_with('.'), "no end: {hint}");
        let quotes = hint.matches('`').count();
        assert_eq!(quotes % 2, 0, "a backtick is missing: {hint}");
    }
}
