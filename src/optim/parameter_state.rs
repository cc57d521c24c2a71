//! The state that an optimiser keeps for one parameter.

use super::rule::Rule;
use crate::error;
use crate::tensor::moved;
use candle_core::{Result, Tensor, Var};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of one parameter.
#[derive(Clone)]
pub(super) struct ParameterState {
    /// The number of steps of the parameter. A step without a gradient does not count.
    pub(super) steps: f64,
    /// Shared with clones of the optimiser until one of them takes a step.
    pub(super) tensors: Arc<BTreeMap<&'static str, Tensor>>,
}

impl ParameterState {
    /// Returns the state after a step; `None` if the rule needs none.
    pub(super) fn new(steps: f64, rule: &dyn Rule, tensors: Vec<Tensor>) -> Option<Self> {
        let names = rule
            .state_names()
            .iter()
            .copied()
            .filter(|name| rule.needs(name));
        (!tensors.is_empty()).then(|| Self {
            steps,
            tensors: Arc::new(names.zip(tensors).collect()),
        })
    }

    /// Returns the tensors that the rule needs for the next step of a variable: on its device, and in
    /// memory that no clone of the optimiser shares.
    pub(super) fn tensors(kept: Option<&Self>, rule: &dyn Rule, var: &Var) -> Result<Vec<Tensor>> {
        let needed = rule.state_names().iter().filter(|name| rule.needs(name));
        let tensor = |name: &&'static str| {
            let Some((kept, tensor)) = kept.and_then(|k| Some((k, k.tensors.get(name)?))) else {
                let zeros = var.zeros_like()?.detach();
                return match rule.initial() {
                    0.0 => Ok(zeros),
                    initial => zeros + initial,
                };
            };
            if tensor.shape() != var.shape() {
                let (got, want) = (tensor.dims(), var.dims());
                return Err(foreign(format!("{got:?} instead of {want:?}")));
            }
            match (
                tensor.device().same_device(var.device()),
                Arc::strong_count(&kept.tensors),
            ) {
                (false, _) => moved(tensor, var.device()),
                (true, 1) => Ok(tensor.clone()),
                (true, _) => tensor.copy(),
            }
        };
        needed.map(tensor).collect()
    }
}

/// Returns the error for a state that belongs to another optimiser.
pub(super) fn foreign(what: String) -> candle_core::Error {
    error::state(
        "the state of the optimiser does not fit",
        what,
        "Load it into the same kind of optimiser, made for the same model",
    )
}
