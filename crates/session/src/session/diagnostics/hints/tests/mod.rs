//! Each hint where its sentence is true, and errors of the same kind where it would be false.

mod names;
mod traits;
mod types;

use super::super::diagnostic::{Diagnostic, Edit, Label, Note};
use super::*;
use crate::session::names::{Changes, Names, Outcome};
use taper_rust_cell::position::position_of;

/// What earlier cells have defined.
const EARLIER: &str = "#[derive(Debug)]\nstruct Own { x: i32 }\n#[derive(Parameters)]\nstruct Model;\n\
                       fn max(a: i32, b: i32) -> i32 { a }\nlet n = 3;\nlet tests = 1;";

/// An error in a cell, in which `«` and `»` mark the place.
struct Error {
    code: &'static str,
    message: &'static str,
    label: &'static str,
    cell: &'static str,
    notes: &'static [&'static str],
    calls_taper: bool,
}

fn error(
    code: &'static str,
    message: &'static str,
    label: &'static str,
    cell: &'static str,
) -> Error {
    Error {
        code,
        message,
        label,
        cell,
        notes: &[],
        calls_taper: false,
    }
}

impl Error {
    /// Adds notes. A note that begins with `+` suggests its rest as an edit.
    fn note(mut self, notes: &'static [&'static str]) -> Error {
        self.notes = notes;
        self
    }

    fn of_taper(mut self) -> Error {
        self.calls_taper = true;
        self
    }

    fn hint(&self) -> (String, String) {
        let start = self.cell.find('«').expect("a place");
        let cell = self.cell.replace('«', "");
        let end = cell.find('»').expect("its end");
        let cell = cell.replace('»', "");
        let place = (position_of(&cell, start), position_of(&cell, end));
        let note = |text: &&str| Note {
            is_help: true,
            message: text.trim_start_matches('+').to_owned(),
            edits: text
                .strip_prefix('+')
                .map(|text| Edit {
                    start: place.0,
                    end: place.1,
                    text: text.to_owned(),
                })
                .into_iter()
                .collect(),
            is_outside_cell: false,
        };
        let mut diagnostic = Diagnostic {
            is_error: true,
            message: self.message.to_owned(),
            code: (!self.code.is_empty()).then(|| self.code.to_owned()),
            labels: vec![Label {
                start: place.0,
                end: place.1,
                text: self.label.to_owned(),
                primary: true,
            }],
            notes: self.notes.iter().map(note).collect(),
            calls_taper: self.calls_taper,
            hint: None,
        };
        let mut names = Names::default();
        let present = ["n", "tests"].map(str::to_owned).into_iter().collect();
        names.cell_ended(EARLIER, Outcome::Ran, present, &Changes::default());
        add(&mut diagnostic, &Context::new(&cell, &names, &[]));
        (cell, diagnostic.hint.unwrap_or_default())
    }

    #[track_caller]
    fn says(&self, phrase: &str) {
        let (cell, hint) = self.hint();
        assert!(
            hint.contains(phrase),
            "{cell}: {phrase:?} is not in {hint:?}"
        );
    }

    #[track_caller]
    fn says_nothing(&self) {
        let (cell, hint) = self.hint();
        assert_eq!(hint, "", "{cell}");
    }
}

/// What conditions and hints of rules may name, besides parts of the pattern.
const CONDITIONS: &str = "edits no-edits no-notes product macro closure operator elements begins begins-not ends has calls place method says \
                          derives taper";
const NAMES: &str = "value bare negated cast place plain receiver method left right comparison variable body own derive size";

#[test]
fn rules_name_what_there_is() {
    let names = |text: &'static str| {
        let parts = text.split('$').skip(1).map(rules::named);
        parts.map(|(name, of, _)| {
            if matches!(name, "one" | "type") {
                of
            } else {
                name
            }
        })
    };
    let is_in = |list: &str, name: &str| list.split_whitespace().any(|known| known == name);
    for (_, pattern, when, text) in &TABLES.rules {
        for condition in when.split(", ").filter(|it| !it.is_empty()) {
            let name = condition.split(':').next().unwrap_or_default();
            assert!(is_in(CONDITIONS, name), "{condition}");
        }
        let found: Vec<&str> = names(pattern).collect();
        for name in names(text) {
            assert!(
                found.contains(&name) || is_in(NAMES, name),
                "${name} in {text}"
            );
        }
    }
}
