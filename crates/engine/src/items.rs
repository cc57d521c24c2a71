//! The items of all cells so far. Every cell is compiled with all of them, so that they form one crate.

mod broken;
mod kept;
mod macros;

use crate::cell::text;
use crate::cell::uses::Uses;
use crate::cell::work::Work;
use crate::cell::{Content, Mark, Parsed, ParsedItem};
use crate::compile::types;
use crate::file::File;
pub use broken::Removed;
pub(crate) use broken::Spot;
use kept::{CellItems, KeptItem, symbol_of};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use taper_rust_cell::imports::Import;
use taper_rust_cell::keys::Key;
use taper_rust_cell::words;

/// The items that a cell can use.
#[derive(Clone, Default)]
pub(crate) struct Items {
    cells: Vec<CellItems>,
    imports: Vec<Import>,
    /// Attributes of the crate, such as `#![recursion_limit = "256"]`.
    attributes: Vec<String>,
    /// How many cells with statics the process has loaded.
    loads: u32,
}

impl Items {
    /// Returns the items with those of a new cell, and the names whose meaning changes thereby.
    pub(crate) fn with(
        &self,
        number: u32,
        source: &str,
        cell: &Parsed,
    ) -> (Items, HashSet<String>) {
        let mut items = self.clone();
        let mut changed = HashSet::new();
        for attribute in &cell.attributes.of_crate {
            if !items.attributes.contains(attribute) {
                items.attributes.push(attribute.clone());
            }
        }
        for import in cell.imports.iter().flat_map(|(_, imports)| imports) {
            items.import(import, &mut changed);
        }
        for item in &cell.items {
            for (key, _) in &item.keys {
                items.replace(key, item, &mut changed);
            }
        }
        items.add_dependents(&mut changed);
        if !cell.items.is_empty() || !cell.imports.is_empty() {
            let kept = |item: &ParsedItem| KeptItem {
                removed: Vec::new(),
                symbols: vec![None; item.statics.len()],
                replaced_macro: None,
                item: Arc::new(item.clone()),
            };
            items.cells.push(CellItems {
                number,
                source: source.into(),
                items: cell.items.iter().map(kept).collect(),
            });
        }
        items.remove_unused_macros();
        items
            .cells
            .retain(|cell| !cell.items.is_empty() || cell.number == number);
        (items, changed)
    }

    /// Imports a name, in place of what it meant before.
    fn import(&mut self, import: &Import, changed: &mut HashSet<String>) {
        let old = self.imports.iter().position(|old| old.name == import.name);
        let old = old.map(|index| self.imports.remove(index));
        let is_same = old.is_some_and(|old| old.tree == import.tree);
        let kind = Key::Type(import.name.clone());
        let value = Key::Value(import.name.clone());
        self.remove(|key| *key == kind || *key == value);
        if !is_same {
            changed.insert(import.name.clone());
        }
        self.imports.push(import.clone());
    }

    /// Removes what an item replaces.
    fn replace(&mut self, key: &Key, new: &ParsedItem, changed: &mut HashSet<String>) {
        let old = self.find(key);
        let is_same = old.is_some_and(|old| old.digest == new.digest);
        let is_known = old.is_some();
        if let Key::Macro(name) = key {
            self.replace_macro(name);
        }
        self.remove(|it| it == key);
        if let Key::Type(name) | Key::Value(name) | Key::Macro(name) = key {
            let count = self.imports.len();
            self.imports.retain(|import| import.name != *name);
            let is_same = is_same && self.imports.len() == count;
            if !is_same && new.shapes_types {
                changed.insert(name.clone());
                if matches!(key, Key::Type(_)) && is_known {
                    changed.insert(types::ERASED.to_owned());
                }
            }
        }
    }

    fn kept(&self) -> impl Iterator<Item = &KeptItem> {
        self.cells.iter().flat_map(|cell| &cell.items)
    }

    fn kept_mut(&mut self) -> impl Iterator<Item = &mut KeptItem> {
        self.cells.iter_mut().flat_map(|cell| &mut cell.items)
    }

    fn find(&self, key: &Key) -> Option<&ParsedItem> {
        let mut items = self.kept().map(|kept| &*kept.item);
        items.find(|item| item.keys.iter().any(|(it, _)| it == key))
    }

    /// Removes the items, and the parts of items, with a key.
    fn remove(&mut self, is_removed: impl Fn(&Key) -> bool) {
        for cell in &mut self.cells {
            cell.items.retain_mut(|kept| {
                let keys = &kept.item.keys;
                let parts = keys.iter().filter(|(key, _)| is_removed(key));
                kept.removed.extend(parts.map(|(_, range)| range.clone()));
                let is_left = |(_, range): &(Key, Range<usize>)| !kept.removed.contains(range);
                keys.is_empty() || keys.iter().any(is_left)
            });
        }
    }

    /// Adds to the names of packages what is imported from them, and the names of all types that contain something of
    /// them.
    pub(crate) fn add_dependents_of_packages(&mut self, changed: &mut HashSet<String>) {
        let is_of_one = |import: &&Import| {
            let path = import.tree.trim_start_matches("::");
            let package = path.split("::").next().unwrap_or_default();
            changed.contains(package.trim())
        };
        let imported: Vec<&Import> = self.imports.iter().filter(is_of_one).collect();
        let mut names: HashSet<String> = imported.iter().map(|it| it.name.clone()).collect();
        if imported.iter().any(|import| import.tree.ends_with('*')) {
            // Any type may contain something of the package.
            names.extend(self.names().into_iter().map(str::to_owned));
        }
        changed.extend(names);
        self.add_dependents(changed);
    }

    /// Adds the names of all types that contain something of a changed meaning. Statics that contain it get
    /// new values. A type of the notebook whose parts have changed has the same `TypeId` as before, so that what
    /// can contain a value of any type is changed too.
    pub(crate) fn add_dependents(&mut self, changed: &mut HashSet<String>) {
        let mut count = usize::MAX;
        while count != changed.len() {
            count = changed.len();
            let is_affected =
                |kept: &&KeptItem| kept.item.shapes_types && kept.mentions_one_of(changed);
            let affected = self.kept().filter(is_affected);
            let keys = affected.flat_map(|kept| &kept.item.keys);
            let names = keys.flat_map(|(key, _)| match key {
                Key::Type(name) => vec![name.clone(), types::ERASED.to_owned()],
                Key::Value(name) => vec![name.clone()],
                _ => Vec::new(),
            });
            let names: Vec<String> = names.collect();
            changed.extend(names);
        }
        for kept in self.kept_mut() {
            if kept.mentions_one_of(changed) {
                kept.symbols.fill(None);
            }
        }
    }

    /// Marks the statics as part of the process, after a cell was loaded.
    pub(crate) fn set_loaded(&mut self) {
        if !self.defines_statics() {
            return;
        }
        self.loads += 1;
        let load = self.loads;
        for cell in &mut self.cells {
            for (index, kept) in cell.items.iter_mut().enumerate() {
                for (place, symbol) in kept.symbols.iter_mut().enumerate() {
                    symbol.get_or_insert_with(|| symbol_of(load, &cell.source, index, place));
                }
            }
        }
    }

    /// Forgets where the statics are, after the process has ended.
    pub(crate) fn set_unloaded(&mut self) {
        self.loads = 0;
        self.kept_mut().for_each(|kept| kept.symbols.fill(None));
    }

    /// Returns whether the next cell would define statics.
    pub(crate) fn defines_statics(&self) -> bool {
        self.kept()
            .any(|kept| kept.symbols.iter().any(Option::is_none))
    }

    /// Returns how much a cell may compute with the items that its names reach.
    pub(crate) fn work(&self, cell: Work, mut names: HashSet<String>) -> Work {
        let mut rest: Vec<&ParsedItem> = self.kept().map(|kept| &*kept.item).collect();
        let mut work = cell;
        if rest.iter().all(|item| item.work == Work::Little) {
            return work;
        }
        loop {
            let (reached, others): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|item| item.is_reached(&names));
            if reached.is_empty() {
                return work;
            }
            let inner = reached.iter().map(|item| item.work).max();
            work = work.around(inner.unwrap_or_default());
            for item in reached {
                names.extend(item.mentions.iter().cloned());
            }
            rest = others;
        }
    }

    /// Returns the attributes of the crate.
    pub(crate) fn attributes(&self) -> String {
        self.attributes.join("\n")
    }

    /// Returns the names of types that need no path.
    pub(crate) fn names(&self) -> HashSet<&str> {
        let keys = self.kept().flat_map(|kept| &kept.item.keys);
        let types = keys.filter_map(|(key, _)| match key {
            Key::Type(name) => Some(name.as_str()),
            _ => None,
        });
        types
            .chain(self.imports.iter().map(|import| &*import.name))
            .collect()
    }

    /// Returns what each definition uses, with a number that changes with its source.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&Key, &(Uses, u64))> {
        self.cells.iter().flat_map(CellItems::parts)
    }

    /// Returns the definitions of the cell with this number.
    pub(crate) fn parts_of(&self, number: u32) -> impl Iterator<Item = (&Key, &(Uses, u64))> {
        let cells = self.cells.iter().filter(move |cell| cell.number == number);
        cells.flat_map(CellItems::parts)
    }

    /// Returns all items, each with the number of its cell.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &ParsedItem)> {
        self.cells.iter().flat_map(|cell| {
            let number = cell.number;
            cell.items.iter().map(move |kept| (number, &*kept.item))
        })
    }

    /// Returns what a type of the notebook contains.
    pub(crate) fn content(&self, name: &str) -> Option<&Content> {
        let key = Key::Type(name.to_owned());
        self.find(&key)?.content.as_ref()
    }

    /// Returns the names that are imported.
    pub(crate) fn import_names(&self) -> impl Iterator<Item = &str> {
        self.imports.iter().map(|import| &*import.name)
    }

    /// Returns the imports that precede the cell with this number, whose own imports are in its file.
    pub(crate) fn imports(&self, cell: &Parsed) -> String {
        let own: HashSet<&str> = cell
            .imports
            .iter()
            .flat_map(|(_, imports)| imports.iter().map(|import| &*import.name))
            .collect();
        let earlier = self
            .imports
            .iter()
            .filter(|import| !own.contains(&*import.name));
        earlier.map(|import| import.item() + "\n").collect()
    }

    /// Returns the items of the cells before the one with this number as they were written, macros first.
    pub(crate) fn text_before(&self, number: u32) -> String {
        let cells = self.cells.iter().filter(|cell| cell.number != number);
        let mut texts = [String::new(), String::new()];
        for (cell, kept) in cells.flat_map(|cell| cell.items.iter().map(move |kept| (cell, kept))) {
            let text = &mut texts[usize::from(!kept.item.is_textual)];
            for part in text::outside(kept.item.range.clone(), &kept.removed) {
                text.push_str(&cell.source[part]);
            }
            text.push('\n');
        }
        texts.concat()
    }

    /// Returns the files with the items, first macros and their calls in order: a macro must be before all that use it. `number` is that of
    /// the cell which is compiled, `imports` are its own, and `marks` are written into its items.
    pub(crate) fn files(&self, number: u32, imports: &[Range<usize>], marks: &[Mark]) -> Vec<File> {
        let renamed = self.renamed_macros();
        let file = |cell: &CellItems, is_textual| {
            let (imports, marks): (&[_], &[_]) = match cell.number == number {
                true => (imports, marks),
                false => (&[], &[]),
            };
            let imports = if is_textual { &[] } else { imports };
            let renamed = renamed.get(&cell.number).map_or(&[][..], Vec::as_slice);
            cell.file(self.loads + 1, is_textual, imports, marks, renamed)
        };
        let macros = self.cells.iter().filter_map(|cell| file(cell, true));
        let items = self.cells.iter().filter_map(|cell| file(cell, false));
        macros.chain(items).collect()
    }
}

impl ParsedItem {
    /// Returns whether code with these names may use the item.
    fn is_reached(&self, names: &HashSet<String>) -> bool {
        self.keys.iter().any(|(key, _)| match key {
            Key::Type(name) | Key::Value(name) | Key::Macro(name) => names.contains(name),
            Key::Implementation(_, of) | Key::Method(of, _) => {
                words::in_text(of).any(|word| names.contains(word))
            }
            Key::MacroCall(_) => true,
        })
    }
}

#[cfg(test)]
mod tests;
