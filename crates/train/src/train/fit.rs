//! Training a model: [`Trainer::fit`] and its loop.

mod accumulated;
mod finite;
mod lr_find;
mod manual;
mod panics;
mod prepare;
mod ranks;
mod schedule;
mod shared;
mod speed;
mod step;
#[cfg(test)]
mod tests;
mod unfinished;

pub use lr_find::LrFinder;

use super::evaluate::{Pass, evaluated};
use super::model::{AnyModel, Steps, steps};
use super::parallel;
use super::recorder::{Fetched, Recorder};
use super::trainer::State;
use super::unfinished::{Random, Unfinished};
use super::{
    Callback, Epoch, EpochEnd, FitEnd, Flow, History, Interval, Module, Trainer, checkpoint,
};
use crate::data::{AnyLoader, BatchData, DataModule};
use crate::error::Result;
use crate::notebook::check_interrupt;
use crate::optim::Optimizer;
use crate::plot::ProgressBoard;
use crate::tensor::generator_state;
use accumulated::Accumulated;
use panics::caught;
use prepare::{initialize_lazy, refuse_empty};
use ranks::{Ranks, call_each, is_by_all, runs_on};
use speed::{Speed, per_second};
use std::panic::resume_unwind;
use std::time::Instant;

impl Trainer {
    /// Trains the model, and leaves it in evaluation mode, on the first device.
    ///
    /// # Errors
    /// If there are fewer GPUs than requested, the data or a callback returns an error, the loss or a gradient is not
    /// finite, or the user stops the training. The model and the [`history`](Self::history) then keep the state of that
    /// moment.
    ///
    /// On the CPU, a loss that is not finite ends the training before the step, so the weights are those before it; the
    /// message names the step, the batch, and what is not finite: a part of the batch, a parameter, or the output of a
    /// layer. On a GPU, only the losses are checked, when the metrics are [fetched](Self::log_every), as each check waits
    /// for the device; the steps until then have changed the weights.
    ///
    /// With several devices or ranks, also if the model or a callback panics with an error of Taper, because a
    /// shape does not fit for instance.
    ///
    /// # Panics
    /// If the model or a callback panics. The model and the history then keep the state of that moment too, and
    /// can be used again.
    ///
    /// ```
    /// use taper::prelude::*;
    /// # struct Points;
    /// # impl DataModule for Points {
    /// #     fn train_dataloader(&self) -> Result<DataLoader> {
    /// #         let data = TensorDataset::new(ones((4, 2)), tensor(&[0, 1, 1, 1]))?;
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
    pub fn fit<M, B, Y>(&mut self, model: &mut M, data: &impl DataModule<B>) -> Result<History>
    where
        M: Module<B, Y>,
        B: BatchData,
        Y: BatchData,
    {
        let (train, validate) = (|| data.train_loader(), || data.val_loader());
        self.fit_model(steps::<M, B, Y>(), model, (&train, &validate))
    }

    fn fit_model(
        &mut self,
        steps: &'static dyn Steps,
        model: &mut dyn AnyModel,
        (train, validate): (Loads<'_, AnyLoader>, Loads<'_, Option<AnyLoader>>),
    ) -> Result<History> {
        self.history = History::default();
        self.board = ProgressBoard::new()
            .xlabel("epoch")
            .xlim(0, self.max_epochs as f64);
        let has_ranks = self.ranks.is_some();
        let mut done = caught(has_ranks, || {
            let loaders = Loaders {
                train: train()?,
                validate: validate()?,
            };
            Fit::new(self, steps, model, loaders)?.run()
        });
        let state: &mut State = self;
        let end = FitEnd {
            model: &*model,
            history: &state.history,
            completed: matches!(done, Ok(Ok(()))),
        };
        for callback in state.callbacks.iter_mut().filter(runs_on(&state.ranks)) {
            let ended = caught(has_ranks, || callback.on_fit_end(&end));
            // The first failure is reported.
            if matches!(done, Ok(Ok(()))) {
                done = ended;
            }
        }
        let done = done.unwrap_or_else(|panic| resume_unwind(panic));
        if let (Some(ranks), Err(error)) = (&self.ranks, &done) {
            ranks.fail(error, is_by_all(error));
        }
        done.map(|()| self.history.clone())
    }
}

/// A call of a method of a [`DataModule`].
type Loads<'a, T> = &'a dyn Fn() -> Result<T>;

/// The loaders of a [`DataModule`].
struct Loaders {
    train: AnyLoader,
    validate: Option<AnyLoader>,
}

/// The name of the metric that records the loss of each batch, whatever the model plots.
const STEP_LOSS: &str = "step_loss";

/// A training in progress.
pub(super) struct Fit<'a> {
    trainer: &'a mut Trainer,
    steps: &'static dyn Steps,
    model: &'a mut dyn AnyModel,
    /// The replicas on the other devices.
    others: Vec<Box<dyn AnyModel>>,
    train: AnyLoader,
    validate: Option<AnyLoader>,
    optimizer: Box<dyn Optimizer>,
    /// The initial learning rate of each parameter group.
    base_lrs: Vec<f64>,
    accumulated: Accumulated,
    /// The number of completed epochs and steps.
    epoch: usize,
    step: usize,
    /// The number of completed batches of this epoch.
    batch: usize,
    /// The state of the random generator when the epoch began.
    epoch_random: Random,
    /// The unfinished epoch of the checkpoint, if it was saved in the middle of an epoch.
    unfinished: Option<Unfinished>,
    /// Whether a callback has stopped the training in a step.
    flow: Flow,
    recorder: Recorder,
    /// The connection to the other processes, if there are any.
    ranks: Option<Ranks>,
    /// The metrics of this epoch that were fetched, and the speed of training.
    fetched: Fetched,
    speed: Speed,
}

impl<'a> Fit<'a> {
    fn new(
        trainer: &'a mut Trainer,
        steps: &'static dyn Steps,
        model: &'a mut dyn AnyModel,
        Loaders { train, validate }: Loaders,
    ) -> Result<Self> {
        refuse_empty("training", &train)?;
        validate
            .iter()
            .try_for_each(|loader| refuse_empty("validation", loader))?;
        trainer.prepare(model)?;
        let mut optimizer = steps.optimizer(model);
        let base_lrs = optimizer.lrs();
        let (mut epoch, mut step, mut unfinished) = (0, 0, None);
        if let Some(path) = &trainer.resume_from {
            let device = &trainer.in_use[0];
            let data = ranks::read(trainer.ranks.as_deref(), path)?;
            let resumed = checkpoint::load(path, &data, device, model, &mut *optimizer)?;
            resumed.restore_random();
            (epoch, step, unfinished) = (resumed.epoch, resumed.step, resumed.unfinished);
            trainer.continue_history(resumed.history);
        }
        let ranks = trainer.ranks.clone().map(Ranks::new);
        if let Some(ranks) = &ranks {
            ranks.share_random()?;
        }
        initialize_lazy(trainer, steps, model, &train)?;
        let (mut train, mut validate) = (train, validate);
        if let Some(ranks) = &ranks {
            ranks.begin(trainer, steps, model, (&train, validate.as_ref()))?;
            (train, validate) = (ranks.shared(&train), validate.map(|v| ranks.shared(&v)));
        }
        // With several devices, the batches are split before they are moved.
        let (train, validate) = match &trainer.in_use[..] {
            [device] => (
                train.moved_to(device),
                validate.map(|loader| loader.moved_to(device)),
            ),
            _ => (train, validate),
        };
        let others = parallel::replicate(model, &trainer.in_use)?;
        Ok(Self {
            trainer,
            steps,
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
            epoch_random: generator_state(),
            unfinished,
            flow: Flow::Continue,
            recorder: Recorder::default(),
            ranks,
            fetched: Fetched::default(),
            speed: Speed::start(),
        })
    }

    /// Trains until the last epoch. If training fails earlier, the metrics of the steps since the last
    /// interval are recorded as well.
    pub(super) fn run(&mut self) -> Result<()> {
        let has_ranks = self.ranks.is_some();
        let done = caught(has_ranks, || self.train()).unwrap_or_else(|panic| {
            if !has_ranks && self.speed.interval > 0 {
                // The callbacks are not called: one of them may have panicked.
                let _ = self.record_interval();
            }
            resume_unwind(panic)
        });
        let Err(error) = &done else {
            return done;
        };
        // Other ranks do not follow if this one fails alone.
        let with_all = self.ranks.is_none() || is_by_all(error);
        if self.speed.interval > 0 && with_all {
            // Only the error that ended the training is reported.
            let _ = self.end_interval();
        }
        match &self.ranks {
            Some(ranks) if ranks.must_end => self.save_unfinished().and(done),
            _ => done,
        }
    }

    fn train(&mut self) -> Result<()> {
        let epochs = self.trainer.max_epochs.saturating_sub(self.epoch);
        let mut bar = self.bar(epochs * self.train.num_batches());
        for _ in 0..epochs {
            let began = Instant::now();
            self.train_epoch(&mut bar)?;
            self.epoch += 1;
            let epoch = self.validated(began)?;
            if self.end_epoch(epoch)? == Flow::Stop || self.flow == Flow::Stop {
                break;
            }
        }
        // The bar counts a step as completed when the next one is requested.
        bar.next();
        Ok(())
    }

    fn train_epoch(&mut self, bar: &mut impl Iterator) -> Result<()> {
        parallel::set_training(self.model, &self.others, true);
        self.speed = Speed::start();
        let remaining = self.begin_epoch();
        let batches = self.train.num_batches();
        let interval = self.trainer.log_every.unwrap_or(batches.div_ceil(2)).max(1);
        for batch in remaining {
            check_interrupt()?;
            let trained = self.train_batch(&*batch?);
            bar.next();
            trained?;
            let last = self.batch == batches || self.flow == Flow::Stop;
            if self.batch.is_multiple_of(interval) || last {
                self.end_interval()?;
                self.speed.began = Instant::now();
            }
            if last {
                break;
            }
        }
        Ok(())
    }

    /// Ends an interval, and returns an error if a loss is not finite.
    fn end_interval(&mut self) -> Result<()> {
        self.record_interval()?;
        let State {
            callbacks,
            ranks,
            history,
            ..
        } = &mut **self.trainer;
        let interval = &history.intervals[history.intervals.len() - 1];
        let mut callbacks = callbacks.iter_mut().filter(runs_on(ranks));
        callbacks.try_for_each(|callback| callback.on_interval(interval))
    }

    /// Fetches the metrics from the device, stores and draws them, and returns an error if a loss is not
    /// finite.
    fn record_interval(&mut self) -> Result<()> {
        let fetched = self.fetch()?;
        let steps = fetched.values(STEP_LOSS).count();
        let wrong = fetched
            .values(STEP_LOSS)
            .enumerate()
            .find(|(_, loss)| !loss.is_finite());
        let interval = Interval {
            step: self.step,
            epoch: self.epoch as f64 + self.batch as f64 / self.train.num_batches() as f64,
            metrics: means(&fetched).into(),
            samples_per_second: self.speed.end_interval(),
            lr: self.optimizer.lr(),
        };
        self.trainer.draw_interval(&interval);
        self.trainer.history.intervals.push(interval);
        self.fetched.extend(fetched);
        let Some((position, loss)) = wrong else {
            return Ok(());
        };
        // The batches of this epoch up to that loss, and the steps before the epoch.
        let batch = self.batch - steps + position + 1;
        let accumulate = self.trainer.accumulate;
        let of_epoch = match self.batch == self.train.num_batches() {
            true => self.batch.div_ceil(accumulate),
            false => self.batch / accumulate,
        };
        // If the batch has made no step because of its loss, that error counts.
        let before = self.step.saturating_sub(of_epoch);
        let step = before + batch.div_ceil(accumulate);
        let advice = self.remedies(&[match self.trainer.in_use[0].is_cpu() {
            true => "look for NaN or infinite values in the data",
            // A GPU does not check the classes, and the steps up to now were made.
            false => {
                "look for NaN or infinite values in the data, and for classes out of range: a step on cpu() reports them. \
                 The steps behind it have changed the weights"
            }
        }]);
        Err(self
            .loss(loss, (step, batch), String::new())
            .with_advice(advice))
    }

    /// Validates the model and returns the metrics of the epoch.
    fn validated(&mut self, began: Instant) -> Result<Epoch> {
        let mut metrics = means(&self.fetched);
        if let Some(ranks) = &self.ranks {
            ranks.share_buffers(self.model)?;
        }
        if let Some(loader) = &self.validate {
            self.model.set_training(false);
            let ranks = self.trainer.ranks.as_deref();
            let device = &self.trainer.in_use[0];
            let (pass, steps, model) = (Pass::Validation, self.steps, &*self.model);
            let evaluate = || evaluated(pass, steps, model, loader, device, ranks);
            metrics.extend(self.trainer.in_precision(evaluate)?);
        }
        let (samples, time) = self.speed.epoch;
        let epoch = Epoch {
            epoch: self.epoch,
            metrics: metrics.into(),
            samples_per_second: per_second(samples, time),
            seconds: began.elapsed().as_secs_f64(),
            lr: self.optimizer.lr(),
        };
        self.trainer.draw_epoch(&epoch);
        Ok(epoch)
    }

    fn end_epoch(&mut self, epoch: Epoch) -> Result<Flow> {
        let trainer: &mut State = self.trainer;
        trainer.history.epochs.push(epoch);
        let end = EpochEnd {
            epoch: &trainer.history.epochs[trainer.history.epochs.len() - 1],
            history: &trainer.history,
            step: self.step,
            model: &*self.model,
            optimizer: &*self.optimizer,
            unfinished: None,
        };
        let call = |callback: &mut dyn Callback| callback.on_epoch_end(&end);
        let flow = call_each(&mut trainer.callbacks, &trainer.ranks, call)?;
        self.agreed(flow)
    }
}

/// Leaves the model in evaluation mode, also after a panic.
impl Drop for Fit<'_> {
    fn drop(&mut self) {
        self.model.set_training(false);
    }
}

/// Returns the means of the plotted metrics. If the model plots no training loss, `train_loss` is the
/// mean of the losses from which the gradients were computed.
fn means(fetched: &Fetched) -> std::collections::BTreeMap<String, f64> {
    let mut means = fetched.means();
    if let Some(loss) = means.remove(STEP_LOSS) {
        means.entry("train_loss".to_owned()).or_insert(loss);
    }
    means
}
