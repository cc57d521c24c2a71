//! Parameters on other devices and of other types.

use super::{LowRank, Parameter, State, is_quantized, variable};
use crate::error::Result;
use crate::tensor::{Raw, copied, moved};
use candle_core::{DType, Device};

impl Parameter {
    /// Moves the values, or sets the device on which they will be created.
    pub(crate) fn move_to(&self, device: &Device) -> Result<()> {
        for part in self.low_rank().iter().flat_map(LowRank::parts) {
            part.move_to(device)?;
        }
        let mut state = self.write();
        match &mut *state {
            State::Lazy { device: wanted, .. } => *wanted = Some(device.clone()),
            State::Ready(var) if var.device().same_device(device) => {}
            State::Quantized(_) if device.is_cpu() => {}
            State::Quantized(_) => return Err(is_quantized()),
            State::Ready(var) => *var = variable(&moved(&Raw::constant(var), device)?)?,
        }
        Ok(())
    }

    /// Returns a parameter on the device that shares nothing with this one.
    pub(crate) fn copy_to(&self, device: &Device) -> Result<Self> {
        let copy = match &*self.read() {
            State::Ready(var) => Self::of_var(variable(&copied(&Raw::constant(var), device)?)?),
            State::Lazy { spec, .. } => Self::waiting(Some(device.clone()), spec.clone()),
            State::Quantized(_) if !device.is_cpu() => return Err(is_quantized()),
            State::Quantized(values) => Self::from_state(State::Quantized(values.clone())),
        };
        copy.set_frozen(self.is_frozen());
        if let Some(LowRank { a, b, scale }) = self.low_rank() {
            let (a, b) = (a.copy_to(device)?, b.copy_to(device)?);
            copy.set_low_rank(Some(LowRank { a, b, scale }));
        }
        Ok(copy)
    }

    /// Returns a parameter of its own that waits for the first input as this one does; `None` if this one has values.
    pub(crate) fn waiting_copy(&self) -> Option<Self> {
        match &*self.read() {
            State::Ready(_) | State::Quantized(_) => None,
            State::Lazy { device, spec } => Some(Self::waiting(device.clone(), spec.clone())),
        }
    }

    /// Converts floating-point values to another type, or sets the type that they will have.
    #[doc(hidden)]
    pub fn convert(&self, dtype: DType) -> Result<()> {
        for part in self.low_rank().iter().flat_map(LowRank::parts) {
            part.convert(dtype)?;
        }
        let mut state = self.write();
        match &mut *state {
            State::Ready(var) if var.dtype().is_float() => {
                *var = variable(&Raw::constant(var).to_dtype(dtype)?)?;
            }
            State::Lazy {
                spec: Some(spec), ..
            } if spec.dtype().is_float() => *spec = spec.with_dtype(dtype),
            _ => {}
        }
        Ok(())
    }
}
