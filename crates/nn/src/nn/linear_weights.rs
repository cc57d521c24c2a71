//! The weights of a model's linear layers.

use crate::nn::visitor::Visitor;
use crate::nn::{Parameter, Parameters};

/// Returns the weights of all linear layers that have values, with their names, each once.
pub(super) fn linear_weights(model: &dyn Parameters) -> Vec<(String, Parameter)> {
    let mut weights = Weights::default();
    weights.path.push(Field::default());
    model.visit(&mut weights);
    weights.found
}

/// A field on the way to a parameter.
#[derive(Default)]
struct Field {
    name: String,
    is_linear: bool,
}

#[derive(Default)]
struct Weights {
    path: Vec<Field>,
    found: Vec<(String, Parameter)>,
}

impl Visitor for Weights {
    fn model(&mut self, name: &str) {
        if let Some(field) = self.path.last_mut() {
            field.is_linear |= name == "Linear";
        }
    }

    fn enter(&mut self, name: &str) {
        self.path.push(Field {
            name: name.to_owned(),
            is_linear: false,
        });
    }

    fn leave(&mut self) {
        self.path.pop();
    }

    fn parameter(&mut self, parameter: &Parameter) {
        let [.., layer, field] = &self.path[..] else {
            return;
        };
        let is_known = || self.found.iter().any(|(_, known)| known.is_same(parameter));
        if layer.is_linear && field.name == "weight" && parameter.is_initialized() && !is_known() {
            let fields: Vec<&str> = self.path[1..].iter().map(|field| &*field.name).collect();
            self.found.push((fields.join("."), parameter.clone()));
        }
    }
}
