//! Compares the first steps of an example's training with PyTorch's: `run.py` beside this file has trained
//! the same network from the same weights on the same batches, and stored the losses in `losses.txt`.
//!
//! Batch normalisation over few values makes the smallest rounding error grow with each step: with the examples'
//! learning rates, PyTorch's own losses in single and double precision differ by 4e-4 to 1e-3 (U-Net) and by more
//! than their size (ResNet-18) after 20 steps. So these examples compare twice: in double precision with their
//! learning rate, see [`doubles`], and in single precision with a lower one, see [`slowly`].

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use taper::prelude::*;

const STEPS: usize = 20;

/// The largest difference of a loss, relative to PyTorch's.
const TOLERANCE: f64 = 1e-4;

/// Records the losses of the first steps. With a folder, also writes the batches and the first weights to it.
struct Record {
    name: &'static str,
    folder: Option<PathBuf>,
    losses: Arc<Mutex<Vec<f64>>>,
}

impl Record {
    fn write(&self, folder: &Path, step: &Step<'_>) -> Result<()> {
        let file = |part: &str| folder.join(format!("{}.{part}.safetensors", self.name));
        if step.step == 1 {
            // The gradients are computed, but no weight has changed yet.
            step.model.save_parameters(file("model"))?;
        }
        let Some(Batch { x, y }) = step.batch::<Batch>() else {
            return Ok(());
        };
        let tensors = HashMap::from([("x", x), ("y", y)].map(|(name, part)| {
            let part: candle_core::Tensor = part.contiguous().into();
            (name, part)
        }));
        Ok(candle_core::safetensors::save(
            &tensors,
            file(&step.step.to_string()),
        )?)
    }
}

impl Callback for Record {
    fn on_step(&mut self, step: &mut Step<'_>) -> Result<Flow> {
        if let Some(folder) = &self.folder {
            self.write(folder, step)?;
        }
        let mut losses = self.losses.lock().expect("no thread has panicked");
        losses.push(step.loss.item());
        Ok(match losses.len() {
            STEPS => Flow::Stop,
            _ => Flow::Continue,
        })
    }
}

/// Trains for some steps and compares the losses with the stored ones of PyTorch. If `run.py` names a
/// folder in `TAPER_STEPS`, writes the weights, the batches and the losses to it instead.
pub(crate) fn compare<T>(
    name: &'static str,
    train: impl FnOnce(Trainer) -> Result<T>,
) -> Result<()> {
    let folder = std::env::var_os("TAPER_STEPS").map(PathBuf::from);
    let losses = Arc::new(Mutex::new(vec![]));
    let record = Record {
        name,
        folder: folder.clone(),
        losses: losses.clone(),
    };
    with_seed(0, || train(Trainer::new(STEPS).callback(record)))?;
    let losses = losses.lock().expect("no thread has panicked").clone();
    assert_eq!(losses.len(), STEPS);
    if let Some(folder) = folder {
        let lines: String = losses.iter().map(|loss| format!("{loss}\n")).collect();
        return Ok(fs::write(folder.join(format!("{name}.txt")), lines)?);
    }
    for (step, (loss, expected)) in losses.iter().zip(stored(name)).enumerate() {
        let off = (loss / expected - 1.0).abs();
        assert!(
            off <= TOLERANCE,
            "step {}: the loss is {loss}, PyTorch's is {expected}. If the example's data or initial weights have \
             changed: python3 examples/pytorch/run.py --store",
            step + 1
        );
    }
    Ok(())
}

/// Returns PyTorch's losses: a line of the file is a name and a loss for each step.
fn stored(name: &str) -> Vec<f64> {
    let lines = include_str!("losses.txt").lines();
    let mut words = lines.map(str::split_whitespace);
    let words = words.find_map(|mut words| (words.next() == Some(name)).then_some(words));
    let losses = words.into_iter().flatten().map(|loss| loss.parse());
    let losses: Vec<f64> = losses
        .collect::<Result<_, _>>()
        .expect("a loss for each step");
    assert_eq!(losses.len(), STEPS, "{name}");
    losses
}

/// Divides the learning rate, so that rounding errors grow as slowly as the weights change.
#[allow(dead_code, reason = "not all examples need it")]
pub(crate) fn slowly(trainer: Trainer, divisor: f64) -> Trainer {
    trainer.schedule(move |lr: f64, _| lr / divisor)
}

/// Returns the first batches of an example's data in double precision.
#[allow(dead_code, reason = "not all examples need it")]
pub(crate) fn doubles(data: &impl DataModule) -> Result<DataLoader> {
    let mut batches: Vec<Batch> = vec![];
    while batches.len() < STEPS {
        for batch in &data.train_dataloader()? {
            batches.push(batch?);
        }
    }
    let size = batches[0].len();
    batches.retain(|batch| batch.len() == size);
    batches.truncate(STEPS);
    let joined = |part: fn(&Batch) -> &Tensor| {
        let all = cat(&batches.iter().map(part).collect::<Vec<_>>(), 0);
        match all.dtype() {
            DType::F32 => all.to_dtype(DType::F64),
            _ => all,
        }
    };
    let data = TensorDataset::new(joined(|batch| &batch.x), joined(|batch| &batch.y))?;
    Ok(DataLoader::new(data).batch_size(size))
}
