//! Training that can be taken up again.

use super::{Callback, EpochEnd, Flow, History};
use crate::error::explain;
use crate::nn::{files, state_of};
use crate::optim::Optimizer;
use crate::tensor::{generator_state, restore_generator};
use candle_core::{Device, Result, Tensor};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Saves, after epochs, all that is needed to take training up again as if it had never stopped: the
/// model, the optimiser's state, the epoch, the history, and the state of the random numbers.
///
/// [`Trainer::resume_from`](super::Trainer::resume_from) takes it up. The file is a safetensors file
/// that is replaced as a whole.
///
/// ```
/// use taper::prelude::*;
///
/// let path = std::env::temp_dir().join("taper_checkpoint.safetensors");
/// let trainer = Trainer::new(10).callback(Checkpoint::new(&path).every(5));
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoint {
    path: PathBuf,
    every: usize,
}

impl Checkpoint {
    /// Saves to this file after each epoch.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let checkpoint = Checkpoint::new("lenet.safetensors");
    /// ```
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            every: 1,
        }
    }

    /// Saves after every `epochs` epochs only.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let checkpoint = Checkpoint::new("lenet.safetensors").every(10);
    /// ```
    pub fn every(mut self, epochs: usize) -> Self {
        self.every = epochs.max(1);
        self
    }
}

impl Callback for Checkpoint {
    fn on_epoch_end(&mut self, end: &EpochEnd<'_>) -> Result<Flow> {
        if end.epoch.epoch.is_multiple_of(self.every) {
            save(&self.path, end)?;
        }
        Ok(Flow::Continue)
    }
}

/// What a checkpoint says about the loop.
pub(super) struct Resumed {
    pub(super) epoch: usize,
    pub(super) step: usize,
    pub(super) history: History,
    random: (Vec<u8>, i64, Vec<u8>),
}

impl Resumed {
    /// Puts the random numbers where they were.
    pub(super) fn restore_random(&self) -> Result<()> {
        let (seed, stream, position) = &self.random;
        let fits = <[u8; 32]>::try_from(&seed[..])
            .ok()
            .zip(<[u8; 16]>::try_from(&position[..]).ok());
        let Some((seed, position)) = fits else {
            return Err(no_checkpoint("random.seed"));
        };
        restore_generator(seed, *stream as u64, u128::from_le_bytes(position));
        Ok(())
    }
}

fn save(path: &Path, end: &EpochEnd<'_>) -> Result<()> {
    let cpu = &Device::Cpu;
    let (seed, stream, position) = generator_state();
    let mut tensors = vec![
        (
            "loop.epoch".to_owned(),
            Tensor::new(end.epoch.epoch as i64, cpu)?,
        ),
        ("loop.step".to_owned(), Tensor::new(end.step as i64, cpu)?),
        ("random.seed".to_owned(), Tensor::new(&seed[..], cpu)?),
        ("random.stream".to_owned(), Tensor::new(stream as i64, cpu)?),
        (
            "random.position".to_owned(),
            Tensor::new(&position.to_le_bytes()[..], cpu)?,
        ),
    ];
    for entry in state_of(end.model) {
        tensors.push((
            format!("model.{}", entry.name),
            entry.parameter.tensor()?.detach(),
        ));
    }
    for (name, tensor) in end.history.to_tensors()? {
        tensors.push((format!("history.{name}"), tensor));
    }
    for (name, tensor) in end.optimizer.state()? {
        tensors.push((format!("optimizer.{name}"), tensor));
    }
    files::save(path, &tensors)
}

/// Puts a checkpoint into a model, which is on the device, and its optimiser.
pub(super) fn load(
    path: &Path,
    device: &Device,
    model: &dyn crate::nn::Parameters,
    optimizer: &mut dyn Optimizer,
) -> Result<Resumed> {
    let tensors = files::load(path, &Device::Cpu)?;
    let part = |prefix: &str, device: &Device| {
        let named = tensors.iter();
        let named = named.filter_map(|(name, tensor)| Some((name.strip_prefix(prefix)?, tensor)));
        let moved = named.map(|(name, tensor)| Ok((name.to_owned(), tensor.to_device(device)?)));
        moved.collect::<Result<HashMap<String, Tensor>>>()
    };
    let (values, state) = (part("model.", device)?, part("optimizer.", device)?);
    // Numbers about the training stay here: not every device has their types.
    let (position, random) = (part("loop.", &Device::Cpu)?, part("random.", &Device::Cpu)?);
    let history = part("history.", &Device::Cpu)?;
    let number = |of: &HashMap<String, Tensor>, name: &str| {
        of.get(name)
            .ok_or_else(|| no_checkpoint(name))?
            .to_scalar::<i64>()
    };
    let bytes = |name: &str| {
        random
            .get(name)
            .ok_or_else(|| no_checkpoint(name))?
            .to_vec1::<u8>()
    };
    let resumed = Resumed {
        epoch: number(&position, "epoch")? as usize,
        step: number(&position, "step")? as usize,
        history: History::of_tensors(&history)?,
        random: (
            bytes("seed")?,
            number(&random, "stream")?,
            bytes("position")?,
        ),
    };
    let entries = state_of(model);
    files::check(path, &entries, &values)?;
    files::assign(&entries, &values)?;
    optimizer.load_state(&state)?;
    Ok(resumed)
}

fn no_checkpoint(missing: &str) -> candle_core::Error {
    explain(
        format!("the file is no checkpoint: it has no {missing}"),
        "Give a file that the callback Checkpoint has written; load_parameters(…) reads a model alone",
    )
}
