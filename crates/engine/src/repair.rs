//! Compiles a cell again where the first attempt shows what is moved or borrowed.
//!
//! The source of a cell puts each variable back after the cell's statements. Where a variable is moved away, or
//! where a new variable borrows from another, rustc reports an error in that part. The next attempt leaves the
//! variable out, or keeps the other one where it is.

use crate::compile::Messages;
use crate::diagnostic::Diagnostic;
use crate::error::{Failure, Refusal};
use crate::file::Position;
use crate::parts::Glue;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The code of an error about a value without a name that does not live long enough.
const TEMPORARY: &str = "E0716";

/// What is known about a cell's variables after some attempts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Repairs {
    /// Why the cell would be refused, if what is borrowed could not stay where it is.
    #[serde(skip)]
    refusal: Option<Refusal>,
    /// Whether an attempt left something where it is.
    #[serde(skip)]
    has_frozen: bool,
    /// Variables of earlier cells that the cell moves away.
    pub(crate) moved: HashSet<String>,
    /// New variables that the cell itself moves away.
    pub(crate) used_up: HashSet<String>,
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
    /// Returns how much is known.
    fn count(&self) -> usize {
        let names = self.moved.len() + self.used_up.len() + self.frozen.len();
        names + self.temporaries.len()
    }

    /// Learns from the errors of an attempt.
    ///
    /// # Errors
    ///
    /// When another attempt would fail in the same way.
    pub(crate) fn learn(&mut self, messages: Messages, source: &Source) -> Result<(), Failure> {
        let errors = messages.errors().cloned();
        let errors: Vec<Found> = errors
            .map(|mut diagnostic| Found {
                glue: source.locate(&mut diagnostic),
                diagnostic,
            })
            .collect();
        let before = self.frozen.clone();
        let count = self.count();
        let mut others = Vec::new();
        let mut refusal = None;
        for moved in errors.iter().filter_map(Found::moved) {
            match moved {
                Glue::Keep(name) => self.used_up.insert(name.clone()),
                Glue::Put(name) => self.moved.insert(name.clone()),
                Glue::Take(_) | Glue::Question(_) | Glue::Other => false,
            };
        }
        for error in errors {
            if error.moved().is_some() {
                continue;
            } else if let Some(borrower) = error
                .borrower()
                .or_else(|| source.coerced(&error.diagnostic))
            {
                if self.used_up.contains(&borrower) {
                    // The next attempt does not keep it.
                    continue;
                }
                let from = error.borrowed();
                let temporaries = match error.diagnostic.has_code(TEMPORARY) {
                    true => source.temporaries(&error.diagnostic),
                    false => BTreeSet::new(),
                };
                let is_temporary = !temporaries.is_subset(&self.temporaries);
                self.temporaries.extend(temporaries);
                let name = from.clone().filter(|name| !before.contains(name));
                let place = source.place(&error.diagnostic);
                let refused = Refusal::Borrows {
                    variable: borrower.clone(),
                    from,
                    diagnostic: Box::new(error.diagnostic),
                };
                match name {
                    _ if is_temporary => {
                        self.refusal.get_or_insert(refused);
                    }
                    Some(name) => {
                        let borrowers = self.borrowers.entry(name.clone()).or_default();
                        borrowers.insert(borrower);
                        if let Some(place) = place {
                            let at = self.borrowed_at.entry(name.clone()).or_insert(place);
                            *at = place.min(*at);
                        }
                        self.frozen.insert(name);
                        self.refusal.get_or_insert(refused);
                    }
                    None => refusal = Some(refused),
                }
            } else if let Some(variable) = error.nameless() {
                let kind = error.diagnostic.message.clone();
                refusal.get_or_insert(Refusal::NamelessType { variable, kind });
            } else {
                others.push(error.diagnostic);
            }
        }
        if !others.is_empty() {
            // With values that cannot be changed, the cell does not compile: the borrow is the reason.
            let refusal = self.refusal.take().filter(|_| self.has_frozen);
            return Err(refusal.map_or(Failure::Compile(others), Failure::Refused));
        }
        self.has_frozen = !self.frozen.is_empty() || !self.temporaries.is_empty();
        match refusal {
            Some(refusal) => Err(Failure::Refused(refusal)),
            None if count == self.count() => {
                Err(Failure::Compile(messages.errors().cloned().collect()))
            }
            None => Ok(()),
        }
    }
}

impl Found {
    /// Returns the line of the variable that cannot be kept because it was moved away, or may have no value.
    fn moved(&self) -> Option<&Glue> {
        let is_about_values = ["E0381", "E0382"]
            .iter()
            .any(|code| self.diagnostic.has_code(code));
        is_about_values.then(|| self.primary())?
    }

    /// Returns the new variable that borrows from something.
    fn borrower(&self) -> Option<String> {
        const BORROWS: [&str; 7] = [
            "E0373", "E0499", "E0502", "E0505", "E0521", "E0597", TEMPORARY,
        ];
        if !BORROWS.iter().any(|code| self.diagnostic.has_code(code)) {
            return None;
        }
        let kept = self.glue.iter().filter_map(|(_, glue)| match glue {
            Glue::Keep(name) => Some(name),
            _ => None,
        });
        let mut kept: Vec<&String> = kept.collect();
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
