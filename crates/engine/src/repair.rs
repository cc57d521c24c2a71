//! Compiles a cell again where the first attempt shows what is moved or borrowed.
//!
//! The source of a cell puts each variable back after the cell's statements. Where a variable is moved away, or
//! where a new variable borrows from another, rustc reports an error in that part. The next attempt leaves the
//! variable out, or keeps the other one where it is.

use crate::cell::Parsed;
use crate::compile::{Messages, types};
use crate::diagnostic::Diagnostic;
use crate::error::{Failure, Refusal};
use crate::file::Position;
use crate::opaque::Opaque;
use crate::parts::Glue;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The code of an error about a value without a name that does not live long enough.
const TEMPORARY: &str = "E0716";

/// What is known about a cell's variables after some attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repairs {
    /// The new variables for which something stays where it is, as they would be without that.
    #[serde(skip)]
    held: BTreeMap<String, Opaque>,
    /// Variables of earlier cells that the cell moves away.
    pub(crate) moved: HashSet<String>,
    /// New variables that the cell itself moves away.
    pub(crate) used_up: HashSet<String>,
    /// New variables that are kept in another form, or not at all.
    pub(crate) opaque: BTreeMap<String, Opaque>,
    /// Whether a macro of the cell waits for a future, or ends the cell with `?`.
    pub(crate) has_await: bool,
    pub(crate) has_try: bool,
    /// Where a `?` is behind an `Option`: what the cell returns is a `Result`.
    pub(crate) options: BTreeSet<Position>,
    /// Variables that others borrow from.
    pub(crate) frozen: HashSet<String>,
    /// Where the cell begins to borrow from these.
    pub(crate) borrowed_at: BTreeMap<String, Position>,
    /// Which new variables borrow from these.
    pub(crate) borrowers: BTreeMap<String, BTreeSet<String>>,
    /// Values without a name that new variables borrow from, as places in the cell's list.
    pub(crate) temporaries: BTreeSet<usize>,
}

/// An error, with the engine's own parts of the source that it is about.
struct Found {
    diagnostic: Diagnostic,
    glue: Vec<(bool, Glue)>,
}

impl Repairs {
    /// Learns from the types of the new variables. Returns whether another attempt keeps them in another way.
    pub(crate) fn learn_kinds(&mut self, kinds: &HashMap<String, String>, source: &Source) -> bool {
        let mut is_changed = false;
        for (name, kind) in kinds {
            match self.opaque.get_mut(name) {
                Some(opaque) => is_changed |= opaque.infer(kind),
                None if types::has_a_name(kind) => {}
                None => {
                    let opaque = Opaque::owned(kind, source.closure(kind));
                    self.opaque.insert(name.clone(), opaque);
                    is_changed = true;
                }
            }
        }
        is_changed
    }

    /// Learns from the errors of an attempt.
    ///
    /// # Errors
    ///
    /// When another attempt would fail in the same way.
    pub(crate) fn learn(&mut self, messages: Messages, source: &Source) -> Result<(), Failure> {
        let kinds: HashMap<String, String> = source.kinds(&messages).collect();
        let errors = messages.errors().cloned();
        let errors: Vec<Found> = errors
            .map(|mut diagnostic| Found {
                glue: source.locate(&mut diagnostic),
                diagnostic,
            })
            .collect();
        let before = self.clone();
        let is_moving = self.opaque.values().any(|it| it.moves_at.is_some());
        let (mut others, mut moved) = (Vec::new(), Vec::new());
        for error in errors {
            if let Some(place) = error.option(source) {
                self.options.insert(place);
            } else if error.is_await() {
                self.has_await = true;
            } else if error.is_try() {
                self.has_try = true;
            } else if let Some(glue) = error.moved() {
                moved.push(glue.clone());
            } else if let Some(name) = error.kept(|name| before.has_form(name)) {
                if self.opaque.get(&name) == before.opaque.get(&name) {
                    self.opaque.entry(name).and_modify(Opaque::try_next);
                }
            } else if let Some(borrower) = error
                .borrower()
                .or_else(|| source.coerced(&error.diagnostic))
                .or_else(|| error.nameless_let(&kinds, source))
            {
                self.learn_borrow(&error, borrower, &before, &kinds, source);
            } else if let Some(variable) = error.nameless() {
                let kind = error.diagnostic.message.clone();
                return Err(Failure::Refused(Refusal::NamelessType { variable, kind }));
            } else {
                others.push(error.diagnostic);
            }
        }
        if is_moving && (!moved.is_empty() || !others.is_empty()) {
            // A closure would take what is needed elsewhere.
            *self = before;
            let moving = self.opaque.values_mut().filter(|it| it.moves_at.is_some());
            moving.for_each(Opaque::try_next);
            return Ok(());
        }
        for glue in moved {
            match glue {
                Glue::Keep(name) => self.used_up.insert(name),
                Glue::Put(name) => self.moved.insert(name),
                Glue::Take(_) | Glue::Question(_) | Glue::Other => false,
            };
        }
        let used_up = &self.used_up;
        self.opaque.retain(|name, _| !used_up.contains(name));
        if !others.is_empty() {
            // With values that cannot be changed, the cell does not compile.
            return match before.held.is_empty() {
                true => Err(Failure::Compile(others)),
                false => {
                    self.release();
                    Ok(())
                }
            };
        }
        match *self == before {
            true => Err(Failure::Compile(messages.errors().cloned().collect())),
            false => Ok(()),
        }
    }

    fn has_form(&self, name: &str) -> bool {
        self.opaque.get(name).is_some_and(|it| it.form().is_some())
    }

    /// Learns that a new variable borrows from something: the next attempt leaves that where it is, or does not keep the
    /// variable. A type without a name is not worth a value that can no longer change.
    fn learn_borrow(
        &mut self,
        error: &Found,
        borrower: String,
        before: &Repairs,
        kinds: &HashMap<String, String>,
        source: &Source,
    ) {
        let from = error.borrowed();
        let kind = kinds.get(&borrower).cloned().unwrap_or_default();
        if !types::has_a_name(&kind) {
            let opaque = Opaque::borrowed(&kind, from, source.closure(&kind));
            self.opaque.entry(borrower).or_insert(opaque);
            return;
        }
        let temporaries = match error.diagnostic.has_code(TEMPORARY) {
            true => source.temporaries(&error.diagnostic),
            false => BTreeSet::new(),
        };
        let is_temporary = !temporaries.is_subset(&self.temporaries);
        self.temporaries.extend(temporaries);
        let name = from.clone().filter(|name| !before.frozen.contains(name));
        match name {
            _ if is_temporary => {}
            Some(name) => {
                let borrowers = self.borrowers.entry(name.clone()).or_default();
                borrowers.insert(borrower.clone());
                if let Some(place) = source.place(&error.diagnostic) {
                    let at = self.borrowed_at.entry(name.clone()).or_insert(place);
                    *at = place.min(*at);
                }
                self.frozen.insert(name);
            }
            None => {
                let opaque = Opaque::borrowed(&kind, from, None);
                self.opaque.entry(borrower).or_insert(opaque);
                return;
            }
        }
        let opaque = Opaque::borrowed(&kind, from, None);
        self.held.entry(borrower).or_insert(opaque);
    }

    /// Keeps none of the new variables that borrow, because they cannot be sorted out.
    pub(crate) fn keep_nothing(&mut self, cell: Option<&Parsed>) {
        self.release();
        for binding in cell.into_iter().flat_map(|cell| &cell.bindings) {
            let nothing = Opaque::borrowed("", None, None);
            self.opaque.insert(binding.name.clone(), nothing);
        }
    }

    /// Lets everything change again, and does not keep what borrows from it.
    fn release(&mut self) {
        for (name, opaque) in std::mem::take(&mut self.held) {
            self.opaque.entry(name).or_insert(opaque);
        }
        self.frozen.clear();
        self.borrowed_at.clear();
        self.borrowers.clear();
        self.temporaries.clear();
    }
}

impl Found {
    /// Returns whether a macro waits for a future where the cell itself does not.
    fn is_await(&self) -> bool {
        self.diagnostic.has_code("E0728") && !self.glue.is_empty()
    }

    /// Returns whether a macro contains a `?` where the cell itself has none.
    fn is_try(&self) -> bool {
        const TRY: &str = "the `?` operator can only be used in a closure that returns";
        self.diagnostic.message.starts_with(TRY) && !self.glue.is_empty()
    }

    /// Returns the place of a `?` of the cell's own behind an `Option`.
    fn option(&self, source: &Source) -> Option<Position> {
        const OPTION: &str = "the `?` operator can only be used on `Result`s, not `Option`s";
        let is_option = self.diagnostic.message.starts_with(OPTION) && !self.glue.is_empty();
        is_option.then(|| source.place(&self.diagnostic))?
    }

    /// Returns the line of the variable that cannot be kept because it was moved away, or may have no value.
    fn moved(&self) -> Option<&Glue> {
        let is_about_values = ["E0381", "E0382"]
            .iter()
            .any(|code| self.diagnostic.has_code(code));
        is_about_values.then(|| self.primary())?
    }

    /// Returns the new variables whose lines the error is about, the place of the mistake first.
    fn lines(&self) -> Vec<&String> {
        let mut lines: Vec<(bool, &String)> = Vec::new();
        for (is_primary, glue) in &self.glue {
            if let Glue::Keep(name) = glue {
                lines.push((!is_primary, name));
            }
        }
        lines.sort_by_key(|(is_other, _)| *is_other);
        lines.into_iter().map(|(_, name)| name).collect()
    }

    /// Returns the new variable that cannot be kept in its form.
    fn kept(&self, has_form: impl Fn(&str) -> bool) -> Option<String> {
        let found = self.lines().into_iter().find(|name| has_form(name));
        found.cloned()
    }

    fn is_about_a_borrow(&self) -> bool {
        const BORROWS: [&str; 12] = [
            "E0373", "E0499", "E0500", "E0501", "E0502", "E0503", "E0505", "E0506", "E0521",
            "E0524", "E0597", TEMPORARY,
        ];
        BORROWS.iter().any(|code| self.diagnostic.has_code(code))
    }

    /// Returns the new variable that borrows from something.
    fn borrower(&self) -> Option<String> {
        if !self.is_about_a_borrow() {
            return None;
        }
        let mut kept = self.lines();
        // The line that keeps a value which is borrowed is part of the message too.
        let borrowed = self.borrowed();
        kept.sort_by_key(|name| Some(*name) == borrowed.as_ref());
        kept.first().map(|name| (*name).clone())
    }

    /// Returns what is borrowed, if that has a name.
    fn borrowed(&self) -> Option<String> {
        if self.diagnostic.has_code(TEMPORARY) {
            return None;
        }
        let mut names = self.diagnostic.message.split('`').skip(1).step_by(2);
        let name = names.next()?.trim_start_matches('*');
        let name = name.split(['.', '[']).next()?;
        name.chars()
            .all(|c| c == '_' || c.is_alphanumeric())
            .then(|| name.to_owned())
    }

    /// Returns the new variable in whose statement the error is, if its type has no name.
    fn nameless_let(&self, kinds: &HashMap<String, String>, source: &Source) -> Option<String> {
        let name = self
            .is_about_a_borrow()
            .then(|| source.defined_at(&self.diagnostic))??;
        let kind = kinds.get(&name)?;
        (!types::has_a_name(kind)).then_some(name)
    }

    /// Returns the earlier variable whose type cannot be written.
    fn nameless(&self) -> Option<String> {
        self.glue.iter().find_map(|(is_primary, glue)| match glue {
            Glue::Take(name) if *is_primary => Some(name.clone()),
            _ => None,
        })
    }

    /// Returns the line of a variable in which the error is.
    fn primary(&self) -> Option<&Glue> {
        let mut glue = self.glue.iter().filter(|(is_primary, _)| *is_primary);
        let is_variable = |glue: &&Glue| matches!(glue, Glue::Keep(_) | Glue::Put(_));
        glue.find_map(|(_, glue)| Some(glue).filter(is_variable))
    }
}
