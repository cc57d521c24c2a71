//! Other packages for later cells, and what of the notebook they leave.
//!
//! A package may be replaced by another version, with other features or from another source. Its types are others then:
//! variables that contain them are lost. All cells are compiled with the items of earlier cells, so those that do not
//! compile any more are removed, or no cell would ever compile again.

use crate::compile::shared::{Files, built};
use crate::config::Package;
use crate::diagnostic::Diagnostic;
use crate::engine::Engine;
use crate::error::Failure;
use crate::items::{Items, Removed, Spot};
use crate::macros::Revisions;
use crate::plan::Input;
use crate::repair::Repairs;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::sync::Arc;

/// What replaced packages have cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    /// The packages that were compiled again, or are gone, in the order of their names.
    pub packages: Vec<String>,
    /// Variables that are lost, because their type is in one of these packages.
    pub variables: Vec<String>,
    /// Statics that begin with their first value again, because they contain something of these packages.
    pub statics: Vec<String>,
    /// What earlier cells have defined and does not compile any more.
    pub items: Vec<Removed>,
}

impl Engine {
    /// Sets the packages that cells can use, and where rustc finds what these use. A shared library that is given with a
    /// new one is loaded; another one at the same path, when the process that runs the cells is started again.
    ///
    /// # Errors
    ///
    /// When no cell compiles with these packages, whatever is in it, and when the sources of cells cannot be written.
    /// Then the packages stay as they were, and so does everything else.
    pub fn set_packages(
        &mut self,
        packages: Vec<Package>,
        search: Vec<OsString>,
    ) -> Result<Replaced, Failure> {
        self.control.set_ahead(None);
        self.settle();
        let built = built(&packages);
        let is_replaced = |(name, files): &(&String, &Files)| built.get(*name) != Some(*files);
        let replaced = self.built.iter().filter(is_replaced);
        let names: BTreeSet<String> = replaced.map(|(name, _)| name.clone()).collect();
        let mut items = self.items.clone();
        let mut changed: HashSet<String> = names.iter().cloned().collect();
        if !changed.is_empty() {
            items.add_dependents_of_packages(&mut changed);
        }
        let before = self.config.clone();
        let config = Arc::make_mut(&mut self.config);
        (config.packages, config.search) = (packages, search);
        let removed = match built == self.built {
            true => Ok(Vec::new()),
            false => self.remove_broken(&mut items, &mut changed),
        };
        let removed = removed.inspect_err(|_| self.config = before.clone());
        self.configure()?;
        let removed = removed?;
        self.load_packages(&before.packages)?;
        let lost = self.variables.affected(&changed);
        for name in &lost {
            self.variables.remove(name);
        }
        self.forgotten.extend(lost.iter().cloned());
        if !names.is_empty() {
            self.paths.clear();
        }
        let statics = self.items.statics(true).into_iter();
        let reset = items.statics(false);
        let statics = statics.filter(|name| reset.contains(name));
        let statics = statics.map(str::to_owned).collect();
        (self.built, self.items) = (built, items);
        Ok(Replaced {
            packages: names.into_iter().collect(),
            variables: lost,
            statics,
            items: removed,
        })
    }

    /// Removes the items that do not compile, and adds the names of their types to the changed ones. Nothing else of a cell
    /// is compiled.
    fn remove_broken(
        &mut self,
        items: &mut Items,
        changed: &mut HashSet<String>,
    ) -> Result<Vec<Removed>, Failure> {
        let attributes = items.attributes();
        self.compiler.set_config(self.config.clone(), &attributes)?;
        let mut removed = Vec::new();
        loop {
            let mut plan = self.plan(Input::of(""), &Revisions::default());
            plan.items = items.clone();
            let source = self.source(&plan, &Repairs::default());
            self.write(&source)?;
            let messages = self.compiler.check(source.text.clone())?.join();
            crate::cell::forget_sources();
            let mut messages = messages.unwrap_or_else(|_| Ok(Default::default()))?;
            if messages.is_success {
                return Ok(removed);
            }
            let errors = messages.errors();
            let broken =
                errors.filter_map(|error| Some((items.spot(&source.places(error))?, error)));
            let broken: BTreeMap<Spot, &Diagnostic> = broken.collect();
            if broken.is_empty() {
                messages.diagnostics.retain(Diagnostic::is_error);
                return Err(Failure::Compile(messages.diagnostics));
            }
            removed.extend(items.remove_spots(&broken, changed));
        }
    }
}
