//! The items of one cell, and the files that are written with them.

use crate::cell::text;
use crate::cell::uses::Uses;
use crate::cell::{Mark, ParsedItem};
use crate::compile::types;
use crate::file::{Edit, File, file_of_cell};
use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use taper_rust_cell::keys::Key;

/// What is left of the items of a cell.
#[derive(Clone)]
pub(super) struct CellItems {
    pub(super) number: u32,
    pub(super) source: Arc<str>,
    pub(super) items: Vec<KeptItem>,
}

#[derive(Clone)]
pub(super) struct KeptItem {
    pub(super) item: Arc<ParsedItem>,
    /// Methods that later cells have replaced.
    pub(super) removed: Vec<Range<usize>>,
    /// The name of a macro that a later cell has defined again.
    pub(super) replaced_macro: Option<String>,
    /// The symbol of each static, once a cell that contains it was loaded.
    pub(super) symbols: Vec<Option<String>>,
}

impl CellItems {
    /// Returns the definitions that no later cell has replaced, with what they use.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&Key, &(Uses, u64))> {
        self.items.iter().flat_map(|kept| {
            let parts = kept.item.keys.iter().zip(&kept.item.parts);
            let left = parts.filter(|((_, range), _)| !kept.removed.contains(range));
            left.map(|((key, _), part)| (key, part))
        })
    }

    /// Returns the file with macros and their calls, or with the other items. `load` counts the cells with statics.
    pub(super) fn file(
        &self,
        load: u32,
        is_textual: bool,
        imports: &[Range<usize>],
        marks: &[Mark],
        renamed: &[(Range<usize>, String)],
    ) -> Option<File> {
        let (mut ranges, mut edits) = (imports.to_vec(), Vec::new());
        for (index, kept) in self.items.iter().enumerate() {
            if kept.item.is_textual == is_textual {
                ranges.extend(text::outside(kept.item.range.clone(), &kept.removed));
                kept.edit(&mut edits, |place| {
                    symbol_of(load, &self.source, index, place)
                });
            }
        }
        let is_in_item = |mark: &&Mark| ranges.iter().any(|range| range.contains(&mark.at));
        let marks = marks.iter().filter(is_in_item);
        edits.extend(marks.map(|mark| Edit::insert(mark.at, mark.text.clone())));
        if is_textual {
            let renames = renamed.iter().cloned();
            edits.extend(renames.map(|(range, name)| Edit::replace(range, name)));
        }
        ranges.sort_by_key(|range| range.start);
        (!ranges.is_empty()).then(|| self.named(&ranges, edits))
    }

    /// Returns a file of the cell whose name depends on its content, so that it is written once.
    fn named(&self, ranges: &[Range<usize>], edits: Vec<Edit>) -> File {
        let mut file = File::new(String::new(), self.number, &self.source, ranges, edits);
        let digest = taper_host::digest::of(file.text.as_bytes());
        file.name = format!("{}.{}", file_of_cell(&self.source), &digest[..8]);
        file
    }
}

impl KeptItem {
    pub(super) fn mentions_one_of(&self, names: &HashSet<String>) -> bool {
        let mentioned = &self.item.mentions;
        let is_erased = || {
            mentioned.contains("dyn") && types::CAN_BE_ANY.iter().any(|it| mentioned.contains(*it))
        };
        names.iter().any(|name| mentioned.contains(name))
            || names.contains(types::ERASED) && is_erased()
    }

    /// Adds what to change in the source of the item. `symbol` names a static that the cell defines.
    fn edit(&self, edits: &mut Vec<Edit>, symbol: impl Fn(usize) -> String) {
        if !self.item.levels.is_empty() {
            let levels = format!("{} ", self.item.levels);
            edits.push(Edit::insert(self.item.range.start, levels));
        }
        for (place, found) in self.item.statics.iter().enumerate() {
            match &self.symbols[place] {
                Some(symbol) => {
                    edits.push(Edit::replace(found.range.clone(), found.imported(symbol)))
                }
                None => {
                    let (before, after) = found.exported(&symbol(place));
                    edits.push(Edit::insert(found.range.start, before));
                    edits.push(Edit::insert(found.range.end, after));
                }
            }
        }
        if self.item.needs_semicolon {
            edits.push(Edit::insert(self.item.range.end, ";".to_owned()));
        }
        if let Some((start, name)) = &self.item.file {
            let path = format!("#[path = {:?}] ", path_of_module(name));
            edits.push(Edit::insert(*start, path));
        }
    }
}

/// Returns the name under which the process knows a static. It depends on what was evaluated and not on when, so that
/// a compiled cell can be kept.
pub(super) fn symbol_of(load: u32, source: &str, index: usize, place: usize) -> String {
    let cell = file_of_cell(source).replace('-', "_");
    format!("taper_static_{load}_{cell}_{index}_{place}")
}

/// Returns the file of a module, which is beside the notebook: `name.rs` or `name/mod.rs`.
fn path_of_module(name: &str) -> PathBuf {
    let folder = std::env::current_dir().unwrap_or_default();
    let inner = folder.join(name).join("mod.rs");
    match inner.exists() {
        true => inner,
        false => folder.join(format!("{name}.rs")),
    }
}
