//! A low-rank change of a parameter, which is trained in its place.

use super::{LowRank, Parameter};
use crate::ops;
use crate::tensor::{Raw, Tensor};
use candle_core::Result;
use std::fmt::Display;
use std::sync::PoisonError;

impl LowRank {
    #[track_caller]
    pub(crate) fn matrix(&self) -> Tensor {
        self.b.tensor().matmul(&self.a.tensor()) * self.scale
    }

    pub(crate) fn parts(&self) -> [&Parameter; 2] {
        [&self.a, &self.b]
    }
}

impl Parameter {
    /// Returns the change that is trained, if there is one.
    pub(crate) fn low_rank(&self) -> Option<LowRank> {
        let low_rank = self.shared.low_rank.read();
        low_rank.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_low_rank(&self, low_rank: Option<LowRank>) {
        let place = self.shared.low_rank.write();
        *place.unwrap_or_else(PoisonError::into_inner) = low_rank;
    }

    /// Returns `x · weightᵀ + bias`, for a parameter that is the weight of a linear layer. Errors begin with the name of
    /// the caller.
    pub(crate) fn linear(&self, caller: &dyn Display, x: &Raw, bias: Option<&Raw>) -> Result<Raw> {
        let y = match self.quantized() {
            Some(values) => ops::linear_quantized(caller, x, &values, bias)?,
            None => ops::linear_as(caller, x, self.base().raw(), bias)?,
        };
        let Some(LowRank { a, b, scale }) = self.low_rank() else {
            return Ok(y);
        };
        // Through the small matrices: their product has the size of the weight.
        let inner = ops::linear_as(caller, x, a.tensor().raw(), None)?;
        let inner = Tensor::from(inner) * scale;
        let change = ops::linear_as(caller, inner.raw(), b.tensor().raw(), None)?;
        Ok((Tensor::from(y) + Tensor::from(change)).into())
    }
}
