//! Which items a cell uses, directly or through other items.

use crate::cell::uses::Uses;
use crate::items::Items;
use std::collections::{HashMap, HashSet};
use taper_rust_cell::keys::Key;
use taper_rust_cell::words;

impl Items {
    /// Returns the definitions that are used by source, whose uses become those of all of them.
    pub(crate) fn reached_from(&self, uses: &mut Uses) -> HashSet<&Key> {
        let mut left: Vec<(&Key, &Uses)> =
            self.parts().map(|(key, (part, _))| (key, part)).collect();
        let types = left.iter().filter_map(|(key, part)| match key {
            Key::Type(name) => Some((name.as_str(), *part)),
            _ => None,
        });
        let types: HashMap<&str, &Uses> = types.collect();
        let mut found = HashSet::new();
        let mut count = usize::MAX;
        while count != left.len() {
            count = left.len();
            left.retain(|(key, part)| {
                let is_used = is_used(key, part, uses, &types);
                if is_used {
                    found.insert(*key);
                    uses.add_items(part);
                }
                !is_used
            });
        }
        found
    }
}

/// Returns whether source that names this uses a definition. A method counts where its name and its type are named,
/// the implementation of a trait of the notebook where one of its methods is. `types` are those of the notebook.
fn is_used(key: &Key, part: &Uses, by: &Uses, types: &HashMap<&str, &Uses>) -> bool {
    let is_called = |name: &String| by.members.contains(name) || by.paths.contains(name);
    let names_type = |kind: &str| {
        // The implementation for a parameter is one for all types.
        let is_general = words::in_text(kind).all(|name| !types.contains_key(name));
        is_general || words::in_text(kind).any(|name| by.paths.contains(name))
    };
    match key {
        Key::Type(name) | Key::Value(name) | Key::Macro(name) => by.paths.contains(name),
        Key::MacroCall(call) => words::in_text(call).any(|name| is_called(&name.to_owned())),
        Key::Method(kind, name) => is_called(name) && names_type(kind),
        Key::Implementation(name, kind) => {
            let name = words::in_text(name).next().unwrap_or_default();
            let is_called = match types.get(name) {
                Some(it) => it.functions.union(&part.functions).any(is_called),
                None => true,
            };
            is_called && (names_type(kind) || by.paths.contains(&format!("dyn {name}")))
        }
    }
}
