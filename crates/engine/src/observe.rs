//! Finds the effects of a cell that has run.
//!
//! rustc says which variables the cell changes or does not use (`question.rs`); the types say what may change
//! otherwise (`interior.rs`); items are followed through their source (`reach.rs`).

use crate::cell::uses::Uses;
use crate::effects::{Access, Effects};
use crate::engine::Engine;
use crate::interior::can_change_inside;
use crate::known::Compiled;
use crate::plan::Plan;
use std::collections::HashSet;

impl Engine {
    /// Returns the effects of a cell that has run, before its changes are taken over. A cell that failed has
    /// defined no variable.
    pub(crate) fn effects(&self, plan: &Plan, compiled: &Compiled, is_done: bool) -> Effects {
        let mut effects = Effects::default();
        let Some(cell) = &plan.cell else {
            return effects;
        };
        let mut uses = cell.uses.clone();
        let mut sharing: HashSet<&str> = HashSet::new();
        let can_change =
            |kind: &str| can_change_inside(kind, &plan.items, &self.config.immutable_types);
        let lints = &compiled.lints;
        let variables = self.variables.iter();
        for variable in variables.filter(|it| plan.used.contains(&it.name)) {
            let name = &variable.name;
            if lints.unused.contains(name) {
                continue;
            }
            let is_shared = can_change(&variable.kind);
            let is_changed = variable.is_mutable && !lints.unchanged.contains(name);
            let access = match compiled.repairs.moved.contains(name) {
                true => Access::Moved,
                false if is_changed && cell.overwrites.contains(name) => Access::Overwritten,
                false if is_changed => Access::Changed,
                false if is_shared => Access::Unknown,
                false => Access::Read,
            };
            effects.used.insert(name.clone(), access);
            if is_shared {
                sharing.insert(name);
            }
            uses.paths.remove(name);
            uses.add_type(&variable.kind);
        }
        for binding in cell.bindings.iter().filter(|_| is_done) {
            let Some(kind) = compiled.kinds.get(&binding.name) else {
                continue;
            };
            effects.defined.insert(binding.name.clone());
            if can_change(kind) {
                sharing.insert(&binding.name);
            }
        }
        for (name, mentions) in &cell.origins {
            let others = mentions.iter().filter(|it| *it != name);
            let others = others.filter(|it| sharing.contains(&***it));
            if sharing.contains(&**name) && effects.defined.contains(name) {
                effects
                    .shared
                    .extend(others.map(|other| (name.clone(), other.clone())));
            }
        }
        effects.shared.sort_unstable();
        self.add_items(plan, uses, &mut effects);
        effects
    }

    /// Adds the items that are used or defined, and their statics.
    fn add_items(&self, plan: &Plan, mut uses: Uses, effects: &mut Effects) {
        for (key, (_, version)) in plan.items.parts_of(self.number) {
            effects.definitions.insert(key.label(), *version);
        }
        let imports = plan.cell.iter().flat_map(|cell| &cell.imports);
        for import in imports.flat_map(|(_, imports)| imports) {
            let version = import.version();
            effects.definitions.insert(import.name.clone(), version);
        }
        let found = plan.items.reached_from(&mut uses);
        effects.items.extend(found.iter().map(|key| key.label()));
        let imports = plan.items.import_names();
        let imports = imports.filter(|name| uses.paths.contains(*name));
        effects.items.extend(imports.map(str::to_owned));
        for (number, item) in plan.items.all() {
            let is_used = item.keys.iter().any(|(key, _)| found.contains(key));
            for (name, kind) in item.statics.iter().flat_map(|it| it.values()) {
                let can_change =
                    |kind| can_change_inside(kind, &plan.items, &self.config.immutable_types);
                if !kind.is_none_or(can_change) {
                    continue;
                }
                let name = format!("static {name}");
                if number == self.number {
                    effects.defined.insert(name);
                } else if is_used {
                    effects.used.insert(name, Access::Unknown);
                }
            }
        }
    }
}
