//! What a cell consists of, and what it would change.

use crate::cell::work::Work;
use crate::cell::{self, Macros, Mark, Parsed, Reading};
use crate::engine::Engine;
use crate::items::Items;
use crate::macros::Revisions;
use crate::variables::Variable;
use std::collections::{HashMap, HashSet};
use taper_rust_cell::words;

/// What is evaluated.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) source: &'a str,
    pub(crate) arguments: &'a [String],
    /// Whether a library that the process has loaded already may run again.
    pub(crate) is_repeated: bool,
    /// Whether its lines are measured.
    pub(crate) is_profiled: bool,
}

/// A cell, and what it would change.
pub(crate) struct Plan<'a> {
    pub(crate) source: &'a str,
    pub(crate) is_repeated: bool,
    pub(crate) work: Work,
    pub(crate) cell: Option<Parsed>,
    pub(crate) items: Items,
    /// Variables whose type changes.
    pub(crate) lost: Vec<String>,
    /// Variables that the cell's functions, constants and statics hide, because they have the same name.
    pub(crate) hidden: Vec<String>,
    /// Earlier variables that the cell mentions.
    pub(crate) used: Vec<String>,
    /// The calls that are written into a cell that is profiled.
    pub(crate) marks: Vec<Mark>,
}

impl Plan<'_> {
    /// Returns how the calls of macros were read, by the paths of the macros.
    pub(crate) fn readings(&self) -> HashMap<String, Reading> {
        let items = self.cell.iter().flat_map(|cell| &cell.items);
        let items = items.filter_map(|item| Some((item.calls.clone()?, Reading::Items)));
        let others = self.cell.iter().flat_map(|cell| &cell.calls);
        let others = others.map(|call| (call.path.clone(), Reading::Value));
        others.chain(items).collect()
    }

    /// Returns whether a call that looks like items was read as such, and will not be.
    pub(crate) fn has_misread(&self, revisions: &Revisions) -> bool {
        let mut items = self.cell.iter().flat_map(|cell| &cell.items);
        items.any(|item| {
            let reading = revisions.readings.get(&item.range.start);
            item.calls.is_some() && item.looks_like_items && reading == Some(&Reading::Value)
        })
    }
}

impl Input<'_> {
    /// Returns a cell as input.
    pub(crate) fn of(source: &str) -> Input<'_> {
        Input {
            source,
            arguments: &[],
            is_repeated: false,
            is_profiled: false,
        }
    }
}

impl Items {
    /// Splits a cell. A macro of which nothing is known is read as items.
    pub(crate) fn parse(
        &self,
        source: &str,
        readings: &HashMap<String, Reading>,
        revisions: &Revisions,
    ) -> Option<Parsed> {
        let own = self.macros();
        let known = |path: &str| {
            let name = path.rsplit("::").next().unwrap_or_default();
            let learned = || readings.get(path).copied();
            let reading = own.get(name).copied().unwrap_or_else(learned);
            reading.unwrap_or(Reading::Items)
        };
        let macros = Macros {
            revised: &revisions.readings,
            known: &known,
        };
        cell::parse(source, &macros)
    }
}

impl Engine {
    /// Splits a cell.
    pub(crate) fn parse(&self, source: &str, revisions: &Revisions) -> Option<Parsed> {
        self.items.parse(source, &self.readings, revisions)
    }

    /// Returns the variables that a cell loses if it runs, because it changes their type.
    pub fn would_lose(&self, source: &str) -> Vec<String> {
        self.plan(Input::of(source), &Revisions::default()).lost
    }

    /// Finds out what a cell consists of and what it changes.
    pub(crate) fn plan<'a>(&self, input: Input<'a>, revisions: &Revisions) -> Plan<'a> {
        let source = input.source;
        let cell = self.parse(source, revisions);
        let items = self.items.without_calls(&revisions.replaced);
        let (mut items, mut changed) = match &cell {
            Some(cell) => items.with(self.number, source, cell),
            None => (items, HashSet::new()),
        };
        if !revisions.names.is_empty() {
            changed.extend(revisions.names.iter().cloned());
            items.add_dependents(&mut changed);
        }
        let lost = self.variables.affected(&changed);
        let mentions = match &cell {
            Some(cell) => cell.mentions.clone(),
            None => words::of(source),
        };
        let values: HashSet<&str> = cell.iter().flat_map(Parsed::values).collect();
        let is_hidden = |variable: &&Variable| values.contains(&*variable.name);
        let hidden = self.variables.iter().filter(is_hidden);
        let hidden: Vec<String> = hidden.map(|it| it.name.clone()).collect();
        let is_used = |variable: &&Variable| {
            mentions.contains(&variable.name)
                && !lost.contains(&variable.name)
                && !is_hidden(variable)
        };
        let used: Vec<&Variable> = self.variables.iter().filter(is_used).collect();
        let kinds = used.iter().flat_map(|it| words::in_text(&it.kind));
        let mut names: HashSet<String> = kinds.map(str::to_owned).collect();
        names.extend(mentions);
        let work = cell.as_ref().map_or(Work::Little, |cell| cell.work);
        Plan {
            work: items.work(work, names),
            used: used.iter().map(|it| it.name.clone()).collect(),
            source,
            is_repeated: input.is_repeated,
            marks: match input.is_profiled {
                true => cell::marks(source),
                false => Vec::new(),
            },
            cell,
            items,
            lost,
            hidden,
        }
    }
}
