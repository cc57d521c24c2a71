//! What is left of the items when a package that they use was replaced.

use super::Items;
use super::kept::CellItems;
use crate::diagnostic::Diagnostic;
use crate::file::Position;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use taper_rust_cell::keys::Key;
use taper_rust_cell::position::position_of;

/// Where something is that can be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Spot {
    Import(usize),
    /// The item of a cell, both as indices, and the part of it that is a method.
    Item(usize, usize, Option<usize>),
}

/// An item or an import that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The name, such as `f`, `Type::method` or `use thing::f`.
    pub name: String,
    /// Why it does not compile.
    pub message: String,
}

impl Items {
    /// Returns what is at the first of these places where something can be removed. Each is in a cell, or in the text that
    /// begins with the imports.
    pub(crate) fn spot(&self, places: &[(Option<u32>, Position)]) -> Option<Spot> {
        places.iter().find_map(|(cell, at)| match cell {
            Some(number) => self.item_at(*number, *at),
            None => self.import_at(at.0).map(Spot::Import),
        })
    }

    /// Returns the names of the statics whose values the process holds, or of the others.
    pub(crate) fn statics(&self, are_held: bool) -> BTreeSet<&str> {
        let found = self.kept().flat_map(|kept| {
            let statics = kept.item.statics.iter().zip(&kept.symbols);
            statics.filter(move |(_, symbol)| symbol.is_some() == are_held)
        });
        found
            .flat_map(|(found, _)| found.values().map(|(name, _)| name))
            .collect()
    }

    /// Returns the import in a line of the text that begins with all of them.
    fn import_at(&self, line: usize) -> Option<usize> {
        let mut end = 0;
        self.imports.iter().position(|import| {
            end += import.item().matches('\n').count() + 1;
            line <= end
        })
    }

    fn item_at(&self, number: u32, at: Position) -> Option<Spot> {
        let is_there = |cell: &CellItems, range: &Range<usize>| {
            let position = |at| position_of(&cell.source, at);
            position(range.start) <= at && at < position(range.end)
        };
        let cells = self.cells.iter().enumerate();
        let mut cells = cells.filter(|(_, cell)| cell.number == number);
        cells.find_map(|(index, cell)| {
            let mut items = cell.items.iter();
            let place = items.position(|kept| is_there(cell, &kept.item.range))?;
            let mut keys = cell.items[place].item.keys.iter();
            let part = keys
                .position(|(key, range)| matches!(key, Key::Method(..)) && is_there(cell, range));
            Some(Spot::Item(index, place, part))
        })
    }

    /// Removes what is at these spots, each with the error about it. Adds the names of types among it to `changed`.
    pub(crate) fn remove_spots(
        &mut self,
        broken: &BTreeMap<Spot, &Diagnostic>,
        changed: &mut HashSet<String>,
    ) -> Vec<Removed> {
        // The last ones first, so that the others keep their places.
        let removed = broken.iter().rev().map(|(spot, error)| Removed {
            name: match *spot {
                Spot::Import(index) => self.remove_import(index, changed),
                Spot::Item(cell, item, part) => self.remove_item(cell, item, part, changed),
            },
            message: error.message.clone(),
        });
        let mut removed: Vec<Removed> = removed.collect();
        removed.reverse();
        self.cells.retain(|cell| !cell.items.is_empty());
        removed
    }

    fn remove_import(&mut self, index: usize, changed: &mut HashSet<String>) -> String {
        let import = self.imports.remove(index);
        let name = format!("use {}", import.tree);
        changed.insert(import.name);
        name
    }

    fn remove_item(
        &mut self,
        cell: usize,
        item: usize,
        part: Option<usize>,
        changed: &mut HashSet<String>,
    ) -> String {
        let cell = &mut self.cells[cell];
        let kept = &mut cell.items[item];
        let keys = &kept.item.keys;
        if let Some((key, range)) = part.and_then(|part| keys.get(part)) {
            let label = key.label();
            kept.removed.push(range.clone());
            return label;
        }
        changed.extend(keys.iter().filter_map(|(key, _)| match key {
            Key::Type(name) => Some(name.clone()),
            _ => None,
        }));
        let label = keys.first().map(|(key, _)| key.label());
        let range = kept.item.range.clone();
        cell.items.remove(item);
        label.unwrap_or_else(|| {
            let source = &cell.source[range];
            source.lines().next().unwrap_or_default().to_owned()
        })
    }
}
