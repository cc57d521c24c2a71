//! Checkpoints, from which a training is resumed.

use super::unfinished::{Random, Unfinished};
use super::{Callback, EpochEnd, Flow, History};
use crate::distributed;
use crate::error::{Result, attempt, problem};
use crate::nn::{files, state_of};
use crate::optim::Optimizer;
use crate::tensor::{Tensor, generator_state, restore_generator};
use candle_core::{Device, WithDType};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Saves the state of a training after each epoch, so that the training can be resumed as if it had
/// never stopped: the model, the optimiser's state, the epoch, the history, and the state of the random
/// generator.
///
/// [`Trainer::resume_from`](super::Trainer::resume_from) resumes the training. The file is a
/// safetensors file that is replaced atomically.
///
/// ```
/// use taper::prelude::*;
///
/// # let path = std::env::temp_dir().join(format!("taper_checkpoint_doc_{}", std::process::id()));
/// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
/// Trainer::new(2).callback(Checkpoint::new(&path)).fit(&mut model, &Digits::new())?;
///
/// let mut resumed = Trainer::new(3).resume_from(&path);
/// assert_eq!(resumed.fit(&mut model, &Digits::new())?.epochs.len(), 3); // 2 of them from the file
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoint {
    path: PathBuf,
    every: usize,
}

impl Checkpoint {
    /// Creates a callback that saves to this file after each epoch.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let checkpoint = Checkpoint::new("lenet.safetensors");
    /// assert!(format!("{checkpoint:?}").contains("every: 1"));
    /// ```
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            every: 1,
        }
    }

    setters! {
        /// Sets after how many epochs each checkpoint is saved; the default is 1.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let checkpoint = Checkpoint::new("lenet.safetensors").every(10);
        /// assert!(format!("{checkpoint:?}").contains("every: 10"));
        /// ```
        pub fn every(self, epochs: usize): self.every = epochs.max(1);
    }
}

impl Callback for Checkpoint {
    fn on_epoch_end(&mut self, end: &EpochEnd<'_>) -> Result<Flow> {
        if end.epoch.epoch.is_multiple_of(self.every) {
            save(&self.path, end)?;
        }
        Ok(Flow::Continue)
    }

    fn on_interrupt(&mut self, end: &EpochEnd<'_>) -> Result<()> {
        save(&self.path, end)
    }

    fn on_first_rank_only(&self) -> bool {
        true
    }
}

/// The state of the training loop in a checkpoint.
pub(super) struct Resumed {
    pub(super) epoch: usize,
    pub(super) step: usize,
    pub(super) history: History,
    pub(super) unfinished: Option<Unfinished>,
    random: Random,
}

impl Resumed {
    /// Restores the state of the random generator.
    pub(super) fn restore_random(&self) {
        restore_generator(self.random);
    }
}

fn save(path: &Path, end: &EpochEnd<'_>) -> Result<()> {
    let mut tensors = vec![
        ("loop.epoch".to_owned(), scalar(end.epoch.epoch as i64)),
        ("loop.step".to_owned(), scalar(end.step as i64)),
    ];
    tensors.extend(random_to_tensors("random", generator_state()));
    if let Some(unfinished) = end.unfinished {
        tensors.push(("loop.batch".to_owned(), scalar(unfinished.batch as i64)));
        tensors.extend(random_to_tensors("began", unfinished.random));
        for (i, (name, value, weight)) in unfinished.metrics.iter().enumerate() {
            let values = vector(vec![*value, *weight]);
            tensors.push((format!("metrics.{i:06}.{name}"), values));
        }
    }
    for entry in state_of(end.model) {
        let values = Tensor::from(&entry.parameter.try_var()?).detach();
        tensors.push((format!("model.{}", entry.name), values));
    }
    for (name, tensor) in end.history.to_tensors() {
        tensors.push((format!("history.{name}"), tensor));
    }
    for (name, tensor) in end.optimizer.state()? {
        tensors.push((format!("optimizer.{name}"), tensor));
    }
    files::save(path, &tensors)?;
    distributed::saved(path);
    Ok(())
}

fn scalar(value: i64) -> Tensor {
    Tensor::from_vec_on(vec![value], (), &Device::Cpu)
}

fn vector<T: WithDType>(values: Vec<T>) -> Tensor {
    let len = values.len();
    Tensor::from_vec_on(values, len, &Device::Cpu)
}

fn random_to_tensors(name: &str, (seed, stream, position): Random) -> [(String, Tensor); 3] {
    [
        (format!("{name}.seed"), vector(seed.to_vec())),
        (format!("{name}.stream"), scalar(stream as i64)),
        (
            format!("{name}.position"),
            vector(position.to_le_bytes().to_vec()),
        ),
    ]
}

fn random_of(tensors: &HashMap<String, Tensor>) -> Result<Random> {
    Ok((
        bytes(tensors, "seed")?,
        number(tensors, "stream")? as u64,
        u128::from_le_bytes(bytes(tensors, "position")?),
    ))
}

fn number(of: &HashMap<String, Tensor>, name: &str) -> Result<i64> {
    let number = of.get(name).and_then(|t| t.raw().to_scalar::<i64>().ok());
    number.ok_or_else(|| no_checkpoint(name))
}

/// Returns the metrics of an unfinished epoch, in their order.
fn metrics_of(tensors: HashMap<String, Tensor>) -> Result<Vec<(String, f64, f64)>> {
    let mut named = Vec::from_iter(tensors);
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    let metric = |(name, tensor): (String, Tensor)| {
        let values = tensor.raw().to_vec1::<f64>()?;
        match (name.split_once('.'), &values[..]) {
            (Some((_, name)), [value, weight]) => Ok((name.to_owned(), *value, *weight)),
            _ => Err(no_checkpoint("metrics")),
        }
    };
    named.into_iter().map(metric).collect()
}

/// Loads the content of a checkpoint into a model, which is on `device`, and its optimiser. If loading
/// fails, the model is unchanged.
pub(super) fn load(
    path: &Path,
    data: &[u8],
    device: &Device,
    model: &dyn crate::nn::Parameters,
    optimizer: &mut dyn Optimizer,
) -> Result<Resumed> {
    let tensors = files::parse(path, data, &Device::Cpu)?;
    let part = |prefix: &str, device: &Device| {
        let named = tensors.iter();
        let named = named.filter_map(|(name, tensor)| Some((name.strip_prefix(prefix)?, tensor)));
        let moved = named.map(|(name, tensor)| (name.to_owned(), tensor.to_device(device)));
        attempt(|| moved.collect::<HashMap<String, Tensor>>())
    };
    let (values, state) = (part("model.", device)?, part("optimizer.", device)?);
    // The state of the loop stays on the CPU: not every device supports its element types.
    let (position, random) = (part("loop.", &Device::Cpu)?, part("random.", &Device::Cpu)?);
    let history = part("history.", &Device::Cpu)?;
    let cpu = &Device::Cpu;
    let unfinished = match number(&position, "batch") {
        Ok(batch) => Some(Unfinished {
            batch: batch as usize,
            random: random_of(&part("began.", cpu)?)?,
            metrics: metrics_of(part("metrics.", cpu)?)?,
        }),
        Err(_) => None,
    };
    let resumed = Resumed {
        epoch: number(&position, "epoch")? as usize,
        step: number(&position, "step")? as usize,
        history: History::of_tensors(&history)?,
        unfinished,
        random: random_of(&random)?,
    };
    let entries = state_of(model);
    files::check(path, &entries, &values)?;
    optimizer.load_state(&Vec::from_iter(state))?; // changes nothing if it fails
    files::assign(&entries, &values)?;
    Ok(resumed)
}

fn bytes<const N: usize>(of: &HashMap<String, Tensor>, name: &str) -> Result<[u8; N]> {
    let bytes = of.get(name).and_then(|t| t.raw().to_vec1::<u8>().ok());
    let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| no_checkpoint(name))
}

fn no_checkpoint(missing: &str) -> crate::error::Error {
    problem!(parse("the checkpoint", "none");
        "an entry {missing:?}",
        "Pass a file that the callback Checkpoint has written; load_parameters(…) reads only a model")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{LazyLinear, Linear, ParametersExt};
    use crate::optim::{Adam, AdamW, SGD};
    use crate::tensor::zeros;

    #[test]
    fn a_refused_checkpoint_leaves_the_model_unchanged() -> Result<()> {
        let name = format!("taper_checkpoint_{}", std::process::id());
        let (cpu, path) = (Device::Cpu, std::env::temp_dir().join(name));
        let model = Linear::new(3, 2);
        let adam = |model: &Linear| Adam::new(model.parameters(), 0.1);
        let history = History::default();
        let epoch = crate::train::Epoch::default();
        save(
            &path,
            &EpochEnd {
                epoch: &epoch,
                step: 1,
                model: &model,
                optimizer: &adam(&model),
                history: &history,
                unfinished: None,
            },
        )?;

        let other = Linear::new(3, 2);
        other.parameter("weight").set(&zeros((2, 3)));
        let weight = |model: &Linear| model.parameter("weight").tensor().to_vec2::<f32>();
        let untouched = || assert_eq!(weight(&other), [[0.0; 3]; 2]);
        let (mut sgd, mut adamw) = (
            SGD::new(other.parameters(), 0.1),
            AdamW::new(other.parameters(), 0.1),
        );
        assert!(load(&path, &files::read(&path)?, &cpu, &other, &mut sgd).is_err());
        assert!(load(&path, &files::read(&path)?, &cpu, &other, &mut adamw).is_err());
        untouched();
        let lazy = LazyLinear::new(2);
        let mut sgd = SGD::new(lazy.parameters(), 0.1);
        assert!(load(&path, &files::read(&path)?, &cpu, &lazy, &mut sgd).is_err());
        assert!(!lazy.parameter("weight").is_initialized());

        let whole = files::load(&path, &cpu)?;
        let mut cut: Vec<_> = whole.into_iter().collect();
        let seed = cut.iter_mut().find(|(name, _)| name == "random.seed");
        let seed = &mut seed.unwrap().1;
        *seed = seed.narrow(0, 0, 31);
        let short = path.with_extension("short");
        files::save(&short, &cut)?;
        let message = load(
            &short,
            &files::read(&short)?,
            &cpu,
            &other,
            &mut adam(&other),
        )
        .err()
        .unwrap();
        assert!(
            message.to_string().contains("an entry \"seed\""),
            "{message}"
        );
        untouched();

        load(&path, &files::read(&path)?, &cpu, &other, &mut adam(&other))?;
        assert_eq!(weight(&other), weight(&model));
        std::fs::remove_file(short)?;
        std::fs::remove_file(path)?;
        Ok(())
    }
}
