//! A parameter of a few bits, which stays constant.

use super::{Parameter, State};
use crate::error::Result;
use crate::ops::Quantized;
use crate::tensor::Raw;
use std::sync::Arc;

impl Parameter {
    /// Returns the values of a few bits, if it has such.
    pub(crate) fn quantized(&self) -> Option<Arc<Quantized>> {
        match &*self.read() {
            State::Quantized(values) => Some(values.clone()),
            _ => None,
        }
    }

    /// Replaces the values by others of a few bits.
    pub(crate) fn set_quantized(&self, values: Arc<Quantized>) {
        *self.write() = State::Quantized(values);
    }

    /// Returns the values as a constant, also if they are quantized.
    #[doc(hidden)]
    pub fn base_values(&self) -> Result<Raw> {
        match self.quantized() {
            Some(values) => Ok(values.tensor()?),
            None => Ok(self.try_var()?.as_detached_tensor().into()),
        }
    }
}
