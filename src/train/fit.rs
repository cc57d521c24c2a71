//! Training a model: [`Trainer::fit`] and its loop.

mod accumulated;
mod lr_find;
mod schedule;

pub use lr_find::LrFinder;

use super::module::Model;
use super::parallel::{self, Gradients};
use super::recorder::{Fetched, Metric, Recorder, collect};
use super::{Epoch, EpochEnd, Flow, History, Interval, Module, Trainer, checkpoint};
use crate::data::{Batch, DataLoader, DataModule};
use crate::device::explain_gpu;
use crate::error;
use crate::nn::ParametersExt;
use crate::notebook::{check_interrupt, progress};
use crate::optim::{Optimizer, clip_gradients};
use crate::plot::ProgressBoard;
use crate::tensor::with_seed;
use accumulated::Accumulated;
use candle_core::Result;
use std::time::{Duration, Instant};

impl Trainer {
    /// Trains the model, and leaves it as `model.eval()` does, on the first device.
    ///
    /// # Errors
    /// If there are fewer GPUs than asked for, data or model fail, the loss is not finite (the
    /// message says at which step), or the user stops it. Model and [`history`](Self::history) are
    /// then as they were at that moment.
    ///
    /// ```
    /// use taper::prelude::*;
    /// # struct Points;
    /// # impl DataModule for Points {
    /// #     fn train_dataloader(&self) -> Result<DataLoader> {
    /// #         let data = TensorDataset::new(ones((4, 2), &cpu())?, tensor(&[0, 1, 1, 1], &cpu())?)?;
    /// #         Ok(DataLoader::new(data))
    /// #     }
    /// # }
    /// # let data = Points;
    ///
    /// let mut model = Classifier::new(LazyLinear::new(2), 0.5);
    /// let mut trainer = Trainer::new(3);
    /// let history = trainer.fit(&mut model, &data)?;
    /// assert_eq!(history.epochs.len(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn fit<M: Module>(&mut self, model: &mut M, data: &impl DataModule) -> Result<History> {
        self.fit_model(model, data)
    }

    fn fit_model(&mut self, model: &mut dyn Model, data: &dyn DataModule) -> Result<History> {
        self.history = History::default();
        self.board = ProgressBoard::new()
            .xlabel("epoch")
            .xlim(0, self.max_epochs as f64);
        let done = Fit::new(self, model, data).and_then(|mut fit| fit.run());
        model.set_training(false);
        let mut told = Ok(());
        for callback in &mut self.callbacks {
            told = told.and(callback.on_fit_end());
        }
        done.and(told).map(|()| self.history.clone())
    }
}

/// The loss that a step was made for, whatever the model plots.
const STEP_LOSS: &str = "step_loss";

/// A training in progress.
pub(super) struct Fit<'a> {
    trainer: &'a mut Trainer,
    model: &'a mut dyn Model,
    /// The replicas on the other devices.
    others: Vec<Box<dyn Model>>,
    train: DataLoader,
    validate: Option<DataLoader>,
    optimizer: Box<dyn Optimizer>,
    /// The learning rates with which the parameter groups began.
    base_lrs: Vec<f64>,
    accumulated: Accumulated,
    /// The number of completed epochs and steps.
    epoch: usize,
    step: usize,
    /// The number of completed batches of this epoch.
    batch: usize,
    recorder: Recorder,
    /// The metrics of this epoch that were fetched, and the speed of training.
    fetched: Fetched,
    speed: Speed,
}

/// The examples and the time of an epoch and of the current interval. The time includes waiting for
/// the data, but not drawing and callbacks.
struct Speed {
    epoch: (usize, Duration),
    interval: usize,
    began: Instant,
}

impl Speed {
    fn start() -> Self {
        Self {
            epoch: (0, Duration::ZERO),
            interval: 0,
            began: Instant::now(),
        }
    }

    /// Ends an interval and returns its examples per second.
    fn end_interval(&mut self) -> f64 {
        let (samples, time) = (std::mem::take(&mut self.interval), self.began.elapsed());
        self.epoch.0 += samples;
        self.epoch.1 += time;
        per_second(samples, time)
    }
}

fn per_second(samples: usize, time: Duration) -> f64 {
    samples as f64 / time.as_secs_f64().max(1e-9)
}

impl<'a> Fit<'a> {
    pub(super) fn new(
        trainer: &'a mut Trainer,
        model: &'a mut dyn Model,
        data: &dyn DataModule,
    ) -> Result<Self> {
        let (train, validate) = (data.train_dataloader()?, data.val_dataloader()?);
        refuse_empty("training", &train)?;
        validate
            .iter()
            .try_for_each(|loader| refuse_empty("validation", loader))?;
        trainer.prepare(model)?;
        let mut optimizer = model.optimizer();
        let base_lrs = optimizer.lrs();
        let (mut epoch, mut step) = (0, 0);
        if let Some(path) = &trainer.resume_from {
            let device = &trainer.in_use[0];
            let resumed = checkpoint::load(path, device, model, &mut *optimizer)?;
            resumed.restore_random();
            (epoch, step) = (resumed.epoch, resumed.step);
            trainer.continue_history(resumed.history);
        }
        settle(trainer, model, &train)?;
        // With several devices, the batches are split before they are moved.
        let (train, validate) = match &trainer.in_use[..] {
            [device] => (
                train.to_device(device),
                validate.map(|loader| loader.to_device(device)),
            ),
            _ => (train, validate),
        };
        let others = parallel::replicate(model, &trainer.in_use)?;
        Ok(Self {
            trainer,
            model,
            others,
            train,
            validate,
            optimizer,
            base_lrs,
            accumulated: Accumulated::default(),
            epoch,
            step,
            batch: 0,
            recorder: Recorder::default(),
            fetched: Fetched::default(),
            speed: Speed::start(),
        })
    }

    /// Trains until the last epoch. If training fails before, the metrics of the steps since the last
    /// interval are kept as well.
    pub(super) fn run(&mut self) -> Result<()> {
        let done = self.train();
        if done.is_err() && self.speed.interval > 0 {
            // Only the error that ended the training is reported.
            let _ = self.end_interval();
        }
        done
    }

    fn train(&mut self) -> Result<()> {
        let epochs = self.trainer.max_epochs.saturating_sub(self.epoch);
        let mut bar = progress(0..epochs * self.train.num_batches()).description("training");
        for _ in 0..epochs {
            let began = Instant::now();
            self.train_epoch(&mut bar)?;
            self.epoch += 1;
            let epoch = self.validated(began)?;
            if self.end_epoch(epoch)? == Flow::Stop {
                break;
            }
        }
        // The bar counts a step as completed when the next one is requested.
        bar.next();
        Ok(())
    }

    fn train_epoch(&mut self, bar: &mut impl Iterator) -> Result<()> {
        self.set_training(true);
        self.fetched = Fetched::default();
        self.speed = Speed::start();
        self.batch = 0;
        let batches = self.train.num_batches();
        let interval = self.trainer.log_every.unwrap_or(batches.div_ceil(2)).max(1);
        for batch in &self.train {
            check_interrupt()?;
            self.train_batch(&batch?)?;
            bar.next();
            if self.batch.is_multiple_of(interval) || self.batch == batches {
                self.end_interval()?;
                self.speed.began = Instant::now();
            }
        }
        Ok(())
    }

    fn train_batch(&mut self, batch: &Batch) -> Result<()> {
        self.schedule()?;
        let device = self.trainer.in_use[0].clone();
        explain_gpu(self.step_on(batch), &device, None)
    }

    fn step_on(&mut self, batch: &Batch) -> Result<()> {
        let parts = self.trainer.prepare_batch(batch)?;
        let (Gradients { loss, gradients }, mut metrics) =
            parallel::backward(self.model, &self.others, &parts)?;
        let ends = (self.batch + 1).is_multiple_of(self.trainer.accumulate)
            || self.batch + 1 == self.train.num_batches();
        let accumulated = &mut self.accumulated;
        if let Some(mut gradients) = accumulated.add(self.model, gradients, batch.len(), ends)? {
            if self.trainer.clip > 0.0 {
                clip_gradients(&self.model.parameters(), &mut gradients, self.trainer.clip)?;
            }
            self.optimizer.step(&gradients)?;
            parallel::broadcast(self.model, &self.others)?;
            self.step += 1;
        }
        metrics.push(Metric {
            name: STEP_LOSS.to_owned(),
            value: loss,
            weight: batch.len() as f64,
        });
        self.recorder.add(metrics);
        self.speed.interval += batch.len();
        self.batch += 1;
        Ok(())
    }

    /// Fetches the metrics from the device, stores and draws them, and returns an error if a loss is not
    /// finite.
    fn end_interval(&mut self) -> Result<()> {
        let fetched = self.recorder.fetch()?;
        let steps = fetched.values(STEP_LOSS).count();
        let wrong = fetched
            .values(STEP_LOSS)
            .enumerate()
            .find(|(_, loss)| !loss.is_finite());
        let interval = Interval {
            step: self.step,
            epoch: self.epoch as f64 + self.batch as f64 / self.train.num_batches() as f64,
            metrics: means(&fetched),
            samples_per_second: self.speed.end_interval(),
            lr: self.optimizer.lr(),
        };
        interval.draw(&self.trainer.board);
        self.trainer.history.intervals.push(interval);
        self.fetched.extend(fetched);
        if let Some((position, loss)) = wrong {
            // The batches of this epoch up to that loss, and the steps before the epoch.
            let batch = self.batch - steps + position + 1;
            let accumulate = self.trainer.accumulate;
            let before = self.step
                - match self.batch == self.train.num_batches() {
                    true => self.batch.div_ceil(accumulate),
                    false => self.batch / accumulate,
                };
            let step = before + batch.div_ceil(accumulate);
            return Err(error::loss(
                loss,
                step,
                self.epoch + 1,
                match self.trainer.in_use[0].is_cpu() {
                    true => {
                        "Lower the learning rate, clip the gradients (.gradient_clip_val(1.0)), or look for such \
                         values in the data"
                    }
                    // A GPU does not check the classes.
                    false => {
                        "Lower the learning rate, clip the gradients (.gradient_clip_val(1.0)), or look for such \
                         values in the data, and for classes out of range: a step on cpu() names them"
                    }
                },
            ));
        }
        let interval = &self.trainer.history.intervals[self.trainer.history.intervals.len() - 1];
        self.trainer
            .callbacks
            .iter_mut()
            .try_for_each(|c| c.on_interval(interval))
    }

    /// Validates the model and returns the metrics of the epoch.
    fn validated(&mut self, began: Instant) -> Result<Epoch> {
        let mut metrics = means(&self.fetched);
        if let Some(loader) = &self.validate {
            self.model.set_training(false);
            for batch in loader {
                check_interrupt()?;
                let batch = batch?.to_device(&self.trainer.in_use[0])?;
                let ((), plotted) = collect(batch.len(), || self.model.validate(&batch))?;
                self.recorder.add(plotted);
            }
            metrics.extend(self.recorder.fetch()?.means());
        }
        let (samples, time) = self.speed.epoch;
        let epoch = Epoch {
            epoch: self.epoch,
            metrics,
            samples_per_second: per_second(samples, time),
            seconds: began.elapsed().as_secs_f64(),
            lr: self.optimizer.lr(),
        };
        epoch.draw_validation(&self.trainer.board);
        Ok(epoch)
    }

    fn end_epoch(&mut self, epoch: Epoch) -> Result<Flow> {
        self.trainer.history.epochs.push(epoch);
        let end = EpochEnd {
            epoch: &self.trainer.history.epochs[self.trainer.history.epochs.len() - 1],
            history: &self.trainer.history,
            step: self.step,
            model: &*self.model,
            optimizer: &*self.optimizer,
        };
        let mut flow = Flow::Continue;
        for callback in &mut self.trainer.callbacks {
            if callback.on_epoch_end(&end)? == Flow::Stop {
                flow = Flow::Stop;
            }
        }
        Ok(flow)
    }

    fn set_training(&self, training: bool) {
        self.model.set_training(training);
        self.others
            .iter()
            .for_each(|other| other.set_training(training));
    }
}

fn refuse_empty(name: &str, loader: &DataLoader) -> Result<()> {
    match loader.dataset().is_empty() {
        false => Ok(()),
        true => Err(error::state(
            "Trainer",
            format_args!("the {name} set is empty"),
            "Add examples; without a validation set, val_dataloader returns None",
        )),
    }
}

/// Initialises lazy parameters with one example, so that the model can be copied. It does not change
/// the random values of the batches.
fn settle(trainer: &Trainer, model: &dyn Model, train: &DataLoader) -> Result<()> {
    if model
        .parameters()
        .iter()
        .all(|parameter| parameter.is_initialized())
    {
        return Ok(());
    }
    let Some(batch) = with_seed(0, || train.into_iter().next()) else {
        return Ok(());
    };
    let first = batch?.x.narrow(0, 0, 1)?.to_device(&trainer.in_use[0])?;
    model.set_training(false);
    model.forward(&first).map(drop)
}

/// Returns the means of the plotted metrics; the loss of the steps if the model plots none.
fn means(fetched: &Fetched) -> std::collections::BTreeMap<String, f64> {
    let mut means = fetched.means();
    if let Some(loss) = means.remove(STEP_LOSS) {
        means.entry("train_loss".to_owned()).or_insert(loss);
    }
    means
}

#[cfg(test)]
mod tests;
