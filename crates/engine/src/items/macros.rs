//! Macros of the notebook, and what their calls have made.

use super::Items;
use super::kept::KeptItem;
use crate::cell::{ParsedItem, Reading};
use crate::file::{Position, file_of_cell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use taper_rust_cell::keys::Key;
use taper_rust_cell::position::position_of;

impl Items {
    /// Returns the items without these calls of macros, and with what changes by that added to `changed`.
    pub(crate) fn without_calls(&self, calls: &BTreeSet<(String, usize)>) -> Items {
        let mut items = self.clone();
        for cell in &mut items.cells {
            let name = file_of_cell(&cell.source);
            let is_replaced = |kept: &KeptItem| {
                kept.item.calls.is_some() && calls.contains(&(name.clone(), kept.item.range.start))
            };
            cell.items.retain(|kept| !is_replaced(kept));
        }
        items
    }

    /// Returns the call of a macro at a place of the cell with this number: the name of the cell's file, and where it begins.
    pub(crate) fn call_at(&self, number: u32, place: Position) -> Option<(String, usize)> {
        let cell = self.cells.iter().find(|cell| cell.number == number)?;
        let is_there = |kept: &&KeptItem| {
            let position = |at| position_of(&cell.source, at);
            let range = &kept.item.range;
            kept.item.calls.is_some()
                && (position(range.start)..position(range.end)).contains(&place)
        };
        let found = cell.items.iter().find(is_there)?;
        Some((file_of_cell(&cell.source), found.item.range.start))
    }

    /// Takes a macro its name. What its calls have made does not change, so its rules stay in front of them.
    pub(super) fn replace_macro(&mut self, name: &str) {
        let key = Key::Macro(name.to_owned());
        for kept in self.kept_mut() {
            if kept.item.keys.iter().any(|(it, _)| *it == key) {
                kept.item = Arc::new(ParsedItem {
                    keys: Vec::new(),
                    parts: Vec::new(),
                    makes: None,
                    ..ParsedItem::clone(&kept.item)
                });
                kept.replaced_macro = Some(name.to_owned());
            }
        }
    }

    /// Removes replaced macros behind which no call is left before the next macro of the name.
    pub(super) fn remove_unused_macros(&mut self) {
        let mut is_called: HashMap<String, bool> = HashMap::new();
        for cell in self.cells.iter_mut().rev() {
            let mut left: Vec<KeptItem> = Vec::new();
            for kept in cell.items.drain(..).rev() {
                if kept.item.calls.is_some() {
                    is_called.values_mut().for_each(|it| *it = true);
                }
                let name = match (&kept.replaced_macro, &kept.item.makes) {
                    (Some(name), _) | (None, Some((name, _))) => Some(name.clone()),
                    (None, None) => None,
                };
                let was_called = name.and_then(|name| is_called.insert(name, false));
                if kept.replaced_macro.is_none() || was_called == Some(true) {
                    left.push(kept);
                }
            }
            left.reverse();
            cell.items = left;
        }
    }

    /// Returns the macros of the notebook, with what their rules show.
    pub(crate) fn macros(&self) -> HashMap<&str, Option<Reading>> {
        let made = self.kept().filter_map(|kept| kept.item.makes.as_ref());
        made.map(|(name, reading)| (&**name, *reading)).collect()
    }

    /// Returns, for each cell, where replaced macros are named, and their new names: rustc does not allow that one of a file
    /// hides another.
    pub(super) fn renamed_macros(&self) -> HashMap<u32, Vec<(Range<usize>, String)>> {
        let mut names: HashMap<&str, Option<String>> = HashMap::new();
        let mut renamed: HashMap<u32, Vec<(Range<usize>, String)>> = HashMap::new();
        if self.kept().all(|kept| kept.replaced_macro.is_none()) {
            return renamed;
        }
        for cell in &self.cells {
            for kept in &cell.items {
                if let Some(name) = &kept.replaced_macro {
                    let digest = taper_host::digest::of(kept.item.digest.as_bytes());
                    names.insert(name, Some(format!("{name}_{}", &digest[..8])));
                } else if let Some((name, _)) = &kept.item.makes {
                    names.insert(name, None);
                }
                for (name, range) in &kept.item.names_macros {
                    if let Some(Some(new)) = names.get(&**name) {
                        let places = renamed.entry(cell.number).or_default();
                        places.push((range.clone(), new.clone()));
                    }
                }
            }
        }
        renamed
    }

    /// Returns the calls of the cell with this number that may make a static of which each cell has a copy.
    pub(crate) fn copied_statics(&self, number: u32) -> Vec<&ParsedItem> {
        let makers = self.kept().filter(|kept| kept.item.may_copy);
        let makers: HashSet<&str> = makers
            .filter_map(|kept| Some(&*kept.item.makes.as_ref()?.0))
            .collect();
        let calls = self.all().filter(|(cell, _)| *cell == number);
        let calls = calls.filter(|(_, item)| {
            let name = item
                .calls
                .as_ref()
                .and_then(|path| path.rsplit("::").next());
            item.may_copy && name.is_some() || name.is_some_and(|name| makers.contains(name))
        });
        calls.map(|(_, item)| item).collect()
    }
}
