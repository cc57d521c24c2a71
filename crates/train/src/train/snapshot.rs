//! A copy of a model's values, to which the model can be set back.

use crate::error::{Result, attempt};
use crate::nn::{Parameters, state_of};
use crate::tensor::Tensor;
use std::fmt;

/// Copies of the parameters and buffers.
#[derive(Clone)]
pub(super) struct Snapshot(Vec<Tensor>);

impl Snapshot {
    /// Copies the model's tensors.
    pub(super) fn of(model: &dyn Parameters) -> Result<Self> {
        let copy = |values: Tensor| values.detach().copy_to(values.device());
        let entries = state_of(model).into_iter();
        attempt(|| {
            Self(
                entries
                    .map(|entry| copy(entry.parameter.tensor()))
                    .collect(),
            )
        })
    }

    /// Sets the model's tensors to the copies.
    pub(super) fn restore(&self, model: &dyn Parameters) -> Result<()> {
        let mut pairs = state_of(model).into_iter().zip(&self.0);
        pairs.try_for_each(|(entry, values)| entry.parameter.try_set(values))
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tensors", self.0.len())
    }
}
