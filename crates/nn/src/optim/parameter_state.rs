//! The state that an optimiser keeps for one parameter.

use super::rule::Rule;
use crate::error::{Result, problem};
use crate::tensor::Tensor;
use candle_core::DType;
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

    /// Returns the tensors that the rule needs for the next step of these values: of their type, on their
    /// device, and in memory that no clone of the optimiser shares.
    pub(super) fn tensors(
        kept: Option<&Self>,
        rule: &dyn Rule,
        values: &Tensor,
    ) -> Result<Vec<Tensor>> {
        let needed = rule.state_names().iter().filter(|name| rule.needs(name));
        let tensor = |name: &&'static str| {
            let Some((kept, tensor)) = kept.and_then(|k| Some((k, k.tensors.get(name)?))) else {
                let zeros = values.zeros_like();
                return Ok(match rule.initial() {
                    0.0 => zeros,
                    initial => zeros + initial,
                });
            };
            if tensor.dims() != values.dims() {
                let (got, want) = (tensor.dims(), values.dims());
                return Err(foreign(format!("{got:?} instead of {want:?}")));
            }
            let own = match Arc::strong_count(&kept.tensors) {
                1 => tensor.to_device(values.device()),
                _ => tensor.copy_to(values.device()),
            };
            Ok(own.to_dtype(values.dtype()))
        };
        needed.map(tensor).collect()
    }
}

/// Returns the type in which an optimiser computes, and in which its state is kept: 16 bits are too few for a
/// mean of squares.
pub(super) fn precise(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    }
}

/// Returns the error for a state that belongs to another optimiser.
pub(super) fn foreign(what: String) -> crate::error::Error {
    problem!(state("the state of the optimiser does not fit");
        what, "Load it into the same kind of optimiser, made for the same model")
}
