//! What a cell can use, as source: for an editor that completes names and shows documentation.

use crate::cell;
use crate::cell::Reading;
use crate::engine::Engine;
use crate::items::Items;
use crate::macros::Revisions;
use crate::variables::Variable;
use std::collections::HashMap;

/// What the cells so far have defined. An editor asks it on another thread, also while a cell runs.
#[derive(Clone, Default)]
pub struct Scope {
    items: Items,
    readings: HashMap<String, Reading>,
    /// The variables, each with its type as source.
    variables: Vec<Variable>,
    /// The number of the next evaluation.
    number: u32,
}

/// The items and the variables around a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The attributes of the crate, imports and items of earlier cells, without those that the cell replaces.
    pub items: String,
    /// The variables, each with its type as source.
    pub variables: Vec<Variable>,
}

impl Engine {
    /// Returns what cells can use from now on.
    pub fn scope(&self) -> Scope {
        let variables = self.variables.iter().map(|variable| Variable {
            kind: self.variables.path(variable).to_owned(),
            ..variable.clone()
        });
        Scope {
            items: self.items.clone(),
            readings: self.readings.clone(),
            variables: variables.collect(),
            number: self.next_number(),
        }
    }
}

impl Scope {
    /// Returns the variables.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Returns what a cell with these items can use. If they are not valid Rust, as in a cell that is being written, they
    /// replace nothing.
    pub fn around(&self, items: &str) -> Surroundings {
        let revisions = Revisions::default();
        let cell = self.items.parse(items, &self.readings, &revisions);
        let cell = cell.unwrap_or_default();
        let (all, _) = self.items.with(self.number, items, &cell);
        let text = format!(
            "{}\n{}{}",
            all.attributes(),
            all.imports(&cell),
            all.text_before(self.number)
        );
        cell::forget_sources();
        Surroundings {
            items: text,
            variables: self.variables.clone(),
        }
    }
}
