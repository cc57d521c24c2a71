//! The list of a model's tensors.

use crate::nn::visitor::Visitor;
use crate::nn::{Buffer, Parameter, Parameters};
use crate::tensor::Tensor;

/// One tensor of a model's state, with its dotted name.
#[doc(hidden)]
#[derive(Clone)]
pub struct StateEntry {
    pub name: String,
    /// Further names of a tied parameter.
    pub aliases: Vec<String>,
    pub parameter: Parameter,
    /// Whether this is a parameter, which an optimiser changes, and not a [`Buffer`], which its layer
    /// changes.
    pub trained: bool,
}

impl StateEntry {
    /// Returns the name and the further names.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.name).chain(&self.aliases)
    }

    /// Returns how a value differs in shape or type; `None` if it fits.
    pub(super) fn refusal(&self, value: &Tensor) -> Option<String> {
        self.parameter.spec()?.refusal(value)
    }
}

/// Returns the parameters and buffers of a model, each once.
#[doc(hidden)]
pub fn state_of(model: &(impl Parameters + ?Sized)) -> Vec<StateEntry> {
    list(&|visitor| model.visit(visitor))
}

/// Returns the number of elements of all parameters that have values.
pub(super) fn count(state: &[StateEntry]) -> usize {
    let trained = state.iter().filter(|entry| entry.trained);
    let values = trained.filter(|entry| entry.parameter.is_initialized());
    values
        .map(|entry| entry.parameter.shape().elem_count())
        .sum()
}

fn list(visit: &dyn Fn(&mut dyn Visitor)) -> Vec<StateEntry> {
    let mut state = State::default();
    visit(&mut state);
    state.found
}

#[derive(Default)]
struct State {
    path: Vec<String>,
    found: Vec<StateEntry>,
}

impl Visitor for State {
    fn enter(&mut self, name: &str) {
        self.path.push(name.to_owned());
    }

    fn leave(&mut self) {
        self.path.pop();
    }

    fn parameter(&mut self, parameter: &Parameter) {
        self.add(parameter, true);
    }

    fn buffer(&mut self, buffer: &Buffer) {
        self.add(buffer.parameter(), false);
    }
}

impl State {
    /// Adds a parameter, or only its name if the parameter is listed already under another one.
    fn add(&mut self, parameter: &Parameter, trained: bool) {
        let name = self.path.join(".");
        let mut found = self.found.iter_mut();
        match found.find(|entry| entry.parameter.is_same(parameter)) {
            Some(entry) => entry.aliases.push(name),
            None => {
                parameter.set_path(&name);
                self.push(name.clone(), parameter.clone(), trained);
                if let Some(low_rank) = parameter.low_rank() {
                    let layer = name.strip_suffix("weight").unwrap_or(&name);
                    self.push(format!("{layer}lora_A.weight"), low_rank.a, true);
                    self.push(format!("{layer}lora_B.weight"), low_rank.b, true);
                }
            }
        }
    }

    fn push(&mut self, name: String, parameter: Parameter, trained: bool) {
        self.found.push(StateEntry {
            name,
            aliases: Vec::new(),
            parameter,
            trained,
        });
    }
}
