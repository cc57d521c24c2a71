//! The chains of cells that have made the values of variables and items.

use super::reason::How;
use crate::effects::{Access, Effects};
use std::collections::BTreeMap;

/// A variable or an item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    Variable(String),
    Item(String),
}

impl Thing {
    pub(super) fn name(&self) -> &str {
        match self {
            Thing::Variable(name) | Thing::Item(name) => name,
        }
    }
}

/// A run of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) cell: usize,
    pub(super) number: u64,
}

/// What a run has done to a thing.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) run: Run,
    pub(super) how: How,
    /// The version of an item, whatever run it is from.
    version: Option<u64>,
}

impl Link {
    /// Returns whether both have the same effect.
    pub(super) fn is_same(&self, other: &Link) -> bool {
        match (self.version, other.version) {
            (None, None) => self.run == other.run,
            versions => versions.0 == versions.1,
        }
    }
}

/// The chain of each thing.
#[derive(Clone, Debug, Default)]
pub(super) struct Chains(BTreeMap<Thing, Vec<Link>>);

impl Chains {
    pub(super) fn get(&self, thing: &Thing) -> &[Link] {
        self.0.get(thing).map_or(&[], Vec::as_slice)
    }

    /// Returns the chains of some things.
    pub(super) fn of(&self, things: impl Iterator<Item = Thing>) -> Chains {
        let chains = things.filter_map(|thing| Some((thing.clone(), self.0.get(&thing)?.clone())));
        Chains(chains.collect())
    }

    /// Adds what a run has done.
    pub(super) fn apply(&mut self, run: Run, effects: &Effects) {
        let used = effects.used.keys().chain(&effects.defined);
        let variables = used.map(|name| Thing::Variable(name.clone()));
        let items = effects.definitions.keys();
        let items = items.map(|name| Thing::Item(name.clone()));
        for thing in variables.chain(items) {
            let Some((how, version)) = write_of(effects, &thing) else {
                continue;
            };
            let chain = self.0.entry(thing).or_default();
            match how {
                How::Defined | How::Redefined | How::Assigned => chain.clear(),
                How::Changed | How::Moved => chain.retain(|link| link.run.cell != run.cell),
            }
            chain.push(Link { run, how, version });
        }
    }
}

/// Returns what a cell with these effects does to a thing, with the version of an item.
pub(super) fn write_of(effects: &Effects, thing: &Thing) -> Option<(How, Option<u64>)> {
    match thing {
        Thing::Item(name) => {
            let version = effects.definitions.get(name)?;
            Some((How::Redefined, Some(*version)))
        }
        Thing::Variable(name) if effects.defined.contains(name) => Some((How::Defined, None)),
        Thing::Variable(name) => match effects.used.get(name)? {
            Access::Changed => Some((How::Changed, None)),
            Access::Overwritten => Some((How::Assigned, None)),
            Access::Moved => Some((How::Moved, None)),
            Access::Read | Access::Unknown => None,
        },
    }
}

/// Returns what a cell with these effects reads.
pub(super) fn read_by(effects: &Effects) -> impl Iterator<Item = Thing> {
    let used = effects.used.iter();
    let read = used.filter(|(_, access)| **access != Access::Overwritten);
    let variables = read.map(|(name, _)| Thing::Variable(name.clone()));
    let items = effects.items.iter();
    // What the cell itself defines is what it uses.
    let items = items.filter(|name| !effects.definitions.contains_key(*name));
    variables.chain(items.map(|name| Thing::Item(name.clone())))
}
