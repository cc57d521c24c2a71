//! Copies of a model that share nothing with it.

use crate::erased::Erased;
use crate::nn::Parameter;
use candle_core::{Device, Result, Tensor, TensorId};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

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
    copied: Erased<HashMap<usize, Parameter>>,
    /// Those of Candle's own layers.
    tensors: Erased<HashMap<TensorId, Tensor>>,
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
            copied: Erased::new(HashMap::new()),
            tensors: Erased::new(HashMap::new()),
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
        once(&mut self.copied, address, || copy(&self.device))
    }

    /// The same for a tensor, by what it is known by.
    pub(crate) fn copy_tensor_once(
        &mut self,
        id: TensorId,
        copy: impl FnOnce(&Device) -> Result<Tensor>,
    ) -> Result<Tensor> {
        once(&mut self.tensors, id, || copy(&self.device))
    }
}

/// What was made for this key, now or before.
fn once<K: Eq + Hash, V: Clone>(
    made: &mut HashMap<K, V>,
    key: K,
    make: impl FnOnce() -> Result<V>,
) -> Result<V> {
    match made.entry(key) {
        Entry::Occupied(there) => Ok(there.get().clone()),
        Entry::Vacant(place) => Ok(place.insert(make()?).clone()),
    }
}

#[cfg(test)]
mod tests {
    use crate::nn::*;
    use crate::tensor::{ones, zeros};
    use candle_core::{Device, Result, Tensor};

    const CPU: Device = Device::Cpu;

    #[derive(taper_macros::Parameters)]
    struct Tied {
        first: Parameter,
        net: Sequential,
        layers: Vec<Box<dyn Layer>>,
        pair: (Option<Linear>, [Parameter; 1]),
        norm: BatchNorm1d,
        mode: Mode,
        name: &'static str,
        #[parameters(skip)]
        notes: std::collections::VecDeque<i32>,
    }

    fn tied() -> Result<Tied> {
        let first = Parameter::new(&ones(2, &CPU)?)?;
        let mut model = Tied {
            net: crate::seq![LazyLinear::new(2), Dropout::new(0.5)?],
            layers: vec![Box::new(Linear::new(2, 2)?)],
            pair: (Some(Linear::new(1, 1)?), [first.clone()]),
            norm: BatchNorm1d::new(2)?,
            first,
            mode: Mode::new(),
            name: "tied",
            notes: [1, 2].into(),
        };
        model.eval();
        model.norm.forward(&zeros((2, 2), &CPU)?)?;
        Ok(model)
    }

    #[test]
    fn a_copy_shares_nothing_with_the_model_and_what_the_model_shares() -> Result<()> {
        let model = tied()?;
        let copy = model.replicate(&CPU)?;
        let names = |m: &Tied| state_of(m).into_iter().map(|e| e.name).collect::<Vec<_>>();
        assert_eq!(names(&copy), names(&model));
        assert!(!copy.mode.is_training() && copy.name == "tied" && copy.notes == [1, 2]);

        copy.first.set(&zeros(2, &CPU)?)?;
        let numbers = |p: &Parameter| p.tensor()?.to_vec1::<f32>();
        assert_eq!(
            numbers(&copy.pair.1[0])?,
            [0.0, 0.0],
            "tied in the copy as well"
        );
        assert_eq!(numbers(&model.first)?, [1.0, 1.0]);

        copy.net.forward(&ones((1, 3), &CPU)?)?;
        assert!(!model.parameter("net.0.weight")?.is_initialized());
        Ok(())
    }

    #[test]
    fn a_model_goes_to_a_device_with_all_its_parts() -> Result<()> {
        let Ok(gpu) = crate::device::gpu(0) else {
            println!("skipped: there is no GPU");
            return Ok(());
        };
        let mut model = tied()?;
        let x: Tensor = ones((1, 2), &CPU)?;
        model.to_device(&gpu)?;
        for entry in state_of(&model)
            .iter()
            .filter(|e| e.parameter.is_initialized())
        {
            assert!(
                entry.parameter.device()?.same_device(&gpu),
                "{}",
                entry.name
            );
        }
        let message = model.norm.forward(&x).unwrap_err().to_string();
        assert!(message.contains("but its input is on cpu\n"), "{message}");
        let (y_hat, y) = (zeros((1, 2), &gpu)?, Tensor::new(&[0i64], &CPU)?);
        let message = cross_entropy(&y_hat, &y).unwrap_err().to_string();
        assert!(message.contains("but targets are on cpu\n"), "{message}");
        Ok(())
    }
}
