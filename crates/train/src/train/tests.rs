//! Whole trainings on small data.

mod bad_inputs;
mod batches;
mod errors;
mod evaluation;
mod finite;
mod half;
mod panics;
mod ranks;

use super::*;
use crate::data::{Batch, DataLoader, DataModule, TensorDataset};
use crate::error::{Result, attempt};
use crate::nn::*;
use crate::notebook::Show;
use crate::optim::{Adam, Schedule};
use crate::seq;
use crate::tensor::{Tensor, manual_seed, rand, randn, tensor, with_seed};
use candle_core::{DType, Device};
use std::path::PathBuf;
use taper_tensor::testing::devices;

const CPU: Device = Device::Cpu;

/// Points in the plane, whose class is their quadrant.
#[derive(Clone)]
pub(super) struct Quarters {
    x: Tensor,
    y: Tensor,
    batch_size: usize,
}

impl Quarters {
    pub(super) fn new(examples: usize) -> Self {
        let x = with_seed(3, || randn((examples, 2)));
        let sides = x.gt(0.0).to_dtype(DType::U32);
        let y = sides.i((.., 0)) + sides.i((.., 1)) * 2;
        Self {
            x,
            y: y.to_dtype(DType::U32),
            batch_size: 16,
        }
    }

    fn batch(&self) -> Batch {
        Batch {
            x: self.x.clone(),
            y: self.y.clone(),
        }
    }
}

impl DataModule for Quarters {
    fn train_dataloader(&self) -> Result<DataLoader> {
        let data = TensorDataset::new(self.x.clone(), self.y.clone())?;
        Ok(DataLoader::new(data)
            .batch_size(self.batch_size)
            .shuffle(true))
    }

    fn val_dataloader(&self) -> Result<Option<DataLoader>> {
        let data = TensorDataset::new(self.x.clone(), self.y.clone())?;
        Ok(Some(DataLoader::new(data).batch_size(self.batch_size)))
    }
}

pub(super) fn mlp(dropout: f64) -> Classifier<Sequential> {
    let net = seq![
        LazyLinear::new(16),
        ReLU,
        Dropout::new(dropout),
        LazyLinear::new(4),
    ];
    Classifier::new(net, 0.02).optimizer(Adam::new)
}

fn values(model: &impl Parameters) -> Vec<Vec<f32>> {
    let tensors = model.state_dict().into_iter();
    let elements = |x: Tensor| x.to_dtype(DType::F32).to_vec();
    tensors.map(|(_, x)| elements(x)).collect()
}

fn losses(history: &History) -> Vec<f64> {
    history
        .intervals
        .iter()
        .map(|i| i.metrics["train_loss"])
        .collect()
}

pub(super) fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("taper_train_{}_{name}", std::process::id()))
}

#[test]
fn a_small_net_learns_and_has_a_history() -> Result<()> {
    manual_seed(1);
    let mut model = mlp(0.0);
    let mut trainer = Trainer::new(30);
    let history = trainer.fit(&mut model, &Quarters::new(200))?;
    assert!(history.last("val_accuracy").unwrap() > 0.95, "{history:?}");
    assert_eq!((history.epochs.len(), history.intervals.len()), (30, 60));
    assert_eq!(history.intervals[1].step, 13);
    assert_eq!(history.intervals[1].epoch, 1.0);
    assert!(history.epochs[0].samples_per_second > 0.0);
    let text = history.show_text();
    let heads = "epoch  train_accuracy  train_loss  val_accuracy  val_loss  samples/s  seconds";
    assert_eq!(text.lines().next(), Some(heads));
    assert!(trainer.board().show_text().contains("val_accuracy: "));
    Ok(())
}

#[test]
fn several_devices_compute_the_gradients_of_one() -> Result<()> {
    for device in devices() {
        let near = if device.is_cpu() { 1e-6 } else { 1e-5 };
        for (examples, replicas) in [(12, 2), (12, 3), (10, 3), (2, 3), (1, 2)] {
            let batch = Quarters::new(examples).batch().to_device(&device)?;
            let mut model = mlp(0.0);
            model.to_device(&device);
            model.forward(&batch.x);
            let single = model.training_step(&batch);
            let gradients = single.backward();
            let parallel = DataParallel::new(model, &vec![device.clone(); replicas])?;
            let sum = parallel.backward(&batch)?;
            let off = (sum.loss.item() - single.item()).abs();
            assert!(off < near, "{examples} on {replicas}: {off}");
            for (name, parameter) in parallel.model().named_parameters() {
                let tensor = parameter.tensor();
                let (one, many) = (gradients.of(&tensor), sum.gradients.of(&tensor));
                let off = (one - many).abs().max_all().item();
                assert!(off < near, "{name}, {examples} on {replicas}: {off}");
            }
        }
    }
    Ok(())
}

#[test]
fn several_devices_have_the_loss_curve_of_one() -> Result<()> {
    for dtype in [DType::F64, DType::F32] {
        let train = |devices: usize| {
            manual_seed(4);
            let mut data = Quarters::new(50);
            data.x = data.x.to_dtype(dtype);
            let mut model = mlp(0.0);
            model.forward(&Quarters::new(1).x);
            for parameter in model.parameters() {
                parameter.convert(dtype)?;
            }
            let mut trainer = Trainer::new(3).log_every(1).devices(&vec![CPU; devices]);
            let history = trainer.fit(&mut model, &data)?;
            Ok::<_, crate::error::Error>(losses(&history))
        };
        let one = train(1)?;
        assert_eq!(one.len(), 12);
        for devices in [2, 3] {
            for (step, (a, b)) in one.iter().zip(train(devices)?).enumerate() {
                let off = (a - b).abs() / a;
                assert!(
                    off < 1e-6,
                    "{dtype:?}, step {step} on {devices}: {a} and {b}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn a_seed_fixes_training_also_with_dropout_on_several_devices() -> Result<()> {
    for devices in [1, 3] {
        let train = || {
            manual_seed(4);
            let mut model = mlp(0.5);
            let mut trainer = Trainer::new(2).devices(&vec![CPU; devices]);
            let history = trainer.fit(&mut model, &Quarters::new(50))?;
            Ok::<_, crate::error::Error>((losses(&history), values(&model)))
        };
        assert_eq!(train()?, train()?);
    }
    Ok(())
}

#[test]
fn a_checkpoint_resumes_exactly() -> Result<()> {
    let (data, path) = (Quarters::new(50), temporary("resume"));
    let schedule = Schedule::cosine(4);
    manual_seed(6);
    let mut whole = mlp(0.3);
    let mut trainer = Trainer::new(4).schedule(schedule.clone());
    let history = trainer.fit(&mut whole, &data)?;

    manual_seed(6);
    let stop = |end: &EpochEnd<'_>| end.epoch.epoch == 2;
    let mut first = mlp(0.3);
    let mut trainer = Trainer::new(4)
        .schedule(schedule.clone())
        .callback(Checkpoint::new(&path))
        .callback(StopIf(stop));
    trainer.fit(&mut first, &data)?;

    manual_seed(99); // resuming restores the random generator
    let mut second = mlp(0.3);
    let mut trainer = Trainer::new(4).schedule(schedule).resume_from(&path);
    let rest = trainer.fit(&mut second, &data)?;
    assert_eq!(values(&second), values(&whole));
    for name in ["train_loss", "val_loss", "val_accuracy"] {
        assert_eq!(
            rest.values(name),
            history.values(name),
            "one history, {name}"
        );
    }
    assert_eq!(losses(&rest), losses(&history));
    assert_eq!(rest.intervals.last().unwrap().step, 16);
    assert_eq!(rest.epochs[1].lr, history.epochs[1].lr);
    assert!(trainer.board().show_text().contains("train_loss: "));

    let mut other = Classifier::new(LazyLinear::new(3), 0.1);
    let mut trainer = Trainer::new(4).resume_from(&path);
    let message = trainer.fit(&mut other, &data).unwrap_err().to_string();
    assert!(
        message.contains("does not fit this model: missing weight"),
        "{message}"
    );
    second.save_parameters(&path)?;
    let message = Trainer::new(4).resume_from(&path).fit(&mut second, &data);
    let message = message.unwrap_err().to_string();
    assert!(
        message.starts_with("the checkpoint: expected an entry "),
        "{message}"
    );
    std::fs::remove_file(path)?;
    Ok(())
}

struct StopIf(fn(&EpochEnd<'_>) -> bool);

impl Callback for StopIf {
    fn on_epoch_end(&mut self, end: &EpochEnd<'_>) -> Result<Flow> {
        Ok(if (self.0)(end) {
            Flow::Stop
        } else {
            Flow::Continue
        })
    }
}

#[test]
fn training_stops_early_without_improvement() -> Result<()> {
    let stop = EarlyStopping::new("val_loss", 2).min_delta(1e9);
    let history = Trainer::new(50)
        .callback(stop)
        .fit(&mut mlp(0.0), &Quarters::new(20))?;
    assert_eq!(history.epochs.len(), 3);
    Ok(())
}

#[test]
fn clipping_limits_the_size_of_a_step() -> Result<()> {
    let data = Quarters::new(16);
    let mut model = Classifier::new(Linear::new(2, 4), 1.0);
    let before = values(&model);
    Trainer::new(1)
        .gradient_clip_val(1e-3)
        .fit(&mut model, &data)?;
    let squares = before
        .iter()
        .flatten()
        .zip(values(&model).into_iter().flatten());
    let moved: f32 = squares.map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt();
    assert!((moved - 1e-3).abs() < 1e-5, "{moved}");
    Ok(())
}

#[test]
fn metrics_over_lists_count_every_example() -> Result<()> {
    let labels = tensor(&[0, 1, 1, 0, 1]);
    let logits = tensor(&[[2., 1.], [1., 2.], [2., 1.], [1., 2.], [0., 1.]]);
    let mut metric = Accuracy::new();
    for devices in [1, 2, 3] {
        let devices = vec![CPU; devices];
        metric.update(
            &split_and_load(&logits, &devices)?,
            &split_and_load(&labels, &devices)?,
        );
        assert!((metric.get() - 0.6).abs() < 1e-9);
    }
    let message = attempt(|| metric.update(&[], &[labels])).unwrap_err();
    let message = message.to_string();
    assert!(
        message.contains("expected as many tensors of outputs as of labels, 1, found 0"),
        "{message}"
    );
    metric.reset();
    assert!(attempt(|| metric.get()).is_err());
    Ok(())
}
