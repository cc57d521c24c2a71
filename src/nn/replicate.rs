//! Copies of a model that share nothing with it.

use crate::nn::Parameter;
use candle_core::{Device, Result};
use std::collections::HashMap;

/// A model that can be copied to a device; `#[derive(Parameters)]` writes it, and
/// [`replicate`](crate::nn::ParametersExt::replicate) calls it.
#[diagnostic::on_unimplemented(
    message = "Taper does not know how to copy `{Self}` to a device",
    note = "write `#[derive(Parameters)]` above it if it is a part of the model",
    note = "write `#[parameters(skip)]` above a field that can be cloned"
)]
pub trait Replicate: Sized {
    /// A copy on the copier's device.
    ///
    /// # Errors
    /// If the device has not enough memory.
    ///
    /// ```
    /// use taper::nn::{Copier, Replicate};
    /// use taper::prelude::*;
    ///
    /// let copy = Linear::new(3, 2)?.replicate_with(&mut Copier::new(&cpu()))?;
    /// assert_eq!(copy.num_parameters(), 8);
    /// # Ok::<(), Error>(())
    /// ```
    fn replicate_with(&self, copier: &mut Copier) -> Result<Self>;
}

/// Copies parameters to a device, each once, so that what a model shares its copy shares too.
pub struct Copier {
    device: Device,
    copied: HashMap<usize, Parameter>,
}

impl Copier {
    /// One that copies to this device.
    ///
    /// ```
    /// use taper::nn::Copier;
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Copier::new(&cpu()).device().label(), "cpu");
    /// ```
    pub fn new(device: &Device) -> Self {
        Self {
            device: device.clone(),
            copied: HashMap::new(),
        }
    }

    /// Where the copies go.
    ///
    /// ```
    /// use taper::nn::Copier;
    /// use taper::prelude::*;
    ///
    /// assert!(Copier::new(&cpu()).device().is_cpu());
    /// ```
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The copy of the parameter at this address, made by `copy` when it is first asked for.
    pub(crate) fn copy_once(
        &mut self,
        address: usize,
        copy: impl FnOnce(&Device) -> Result<Parameter>,
    ) -> Result<Parameter> {
        if let Some(copied) = self.copied.get(&address) {
            return Ok(copied.clone());
        }
        let parameter = copy(&self.device)?;
        self.copied.insert(address, parameter.clone());
        Ok(parameter)
    }
}
