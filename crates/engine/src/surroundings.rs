//! What a cell can use, as source: for an editor that completes names and shows documentation.

use crate::cell;
use crate::engine::Engine;
use crate::macros::Revisions;
use crate::variables::Variable;

/// The items and the variables around a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The attributes of the crate, imports and items of earlier cells, without those that the cell replaces.
    pub items: String,
    /// The variables, each with its type as source.
    pub variables: Vec<Variable>,
}

impl Engine {
    /// Returns what a cell with these items can use. If they are not valid Rust, as in a cell that is being written, they
    /// replace nothing.
    pub fn surroundings(&mut self, items: &str) -> Surroundings {
        self.settle();
        let cell = self.parse(items, &Revisions::default()).unwrap_or_default();
        let number = self.next_number();
        let (all, _) = self.items.with(number, items, &cell);
        let text = format!(
            "{}\n{}{}",
            all.attributes(),
            all.imports(&cell),
            all.text_before(number)
        );
        cell::forget_sources();
        let variables = self.variables.iter().map(|variable| Variable {
            kind: self.variables.path(variable).to_owned(),
            ..variable.clone()
        });
        Surroundings {
            items: text,
            variables: variables.collect(),
        }
    }
}
