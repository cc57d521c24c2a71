//! The variables of all cells.

use crate::compile::types;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A variable that later cells can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type, as rustc shortens it.
    pub kind: String,
    /// Whether it was declared with `mut`.
    pub is_mutable: bool,
    /// The number of the evaluation that defined it.
    pub cell: u32,
    /// Whether other variables borrow from it. Its value then stays where it is until the process ends, and
    /// cannot be changed.
    pub is_frozen: bool,
    /// The first variables that borrowed from it.
    pub borrowers: BTreeSet<String>,
}

/// All variables, by name.
#[derive(Clone, Default)]
pub(crate) struct Variables {
    known: BTreeMap<String, Variable>,
    /// The types with whole paths, by name of the variable, where the shortened type is not in scope.
    paths: HashMap<String, String>,
}

impl Variables {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Variable> {
        self.known.values()
    }

    /// Returns the type of a variable as source.
    pub(crate) fn path<'a>(&'a self, variable: &'a Variable) -> &'a str {
        self.paths.get(&variable.name).unwrap_or(&variable.kind)
    }

    pub(crate) fn insert(&mut self, variable: Variable) {
        self.paths.remove(&variable.name);
        self.known.insert(variable.name.clone(), variable);
    }

    /// Sets the type of a variable as source.
    pub(crate) fn set_path(&mut self, name: &str, path: String) {
        if self.known.contains_key(name) {
            self.paths.insert(name.to_owned(), path);
        }
    }

    /// Marks a variable from which others borrow.
    pub(crate) fn freeze(&mut self, name: &str, borrowers: BTreeSet<String>) {
        let path = self.paths.get(name).map(|path| format!("&'static {path}"));
        if let Some(variable) = self
            .known
            .get_mut(name)
            .filter(|variable| !variable.is_frozen)
        {
            variable.kind = format!("&'static {}", variable.kind);
            variable.is_frozen = true;
            variable.borrowers = borrowers;
            variable.is_mutable = false;
            self.paths.extend(path.map(|path| (name.to_owned(), path)));
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.paths.remove(name);
        self.known.remove(name);
    }

    /// Removes all variables, whose process has ended. Returns their names.
    pub(crate) fn clear(&mut self) -> Vec<String> {
        self.paths.clear();
        std::mem::take(&mut self.known).into_keys().collect()
    }

    /// Returns the variables whose type changes with these names.
    pub(crate) fn affected(&self, changed: &HashSet<String>) -> Vec<String> {
        let affected = self
            .iter()
            .filter(|it| types::names_one_of(self.path(it), changed));
        affected.map(|it| it.name.clone()).collect()
    }
}
