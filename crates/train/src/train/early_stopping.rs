//! Stopping a training that no longer improves.

use super::snapshot::Snapshot;
use super::{Callback, EpochEnd, FitEnd, Flow};
use crate::erased::outlined;
use crate::error::{self, Result};
use crate::nn::Parameters;
use crate::optim::is_better_larger;

/// Stops a training when a metric has not improved for some epochs. From d2l's chapter
/// *Generalization in Deep Learning*.
///
/// ```
/// use taper::prelude::*;
///
/// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
/// let mut trainer = Trainer::new(100).callback(EarlyStopping::new("val_loss", 1).min_delta(0.5));
/// assert!(trainer.fit(&mut model, &Digits::new())?.epochs.len() < 100);
/// # Ok::<(), Error>(())
/// ```
pub struct EarlyStopping {
    name: String,
    patience: usize,
    min_delta: f64,
    larger_is_better: bool,
    restore_best: bool,
    /// The best epoch of this training: the metric, larger for a better epoch, and the model.
    best: Option<(f64, Snapshot)>,
}

outlined!(Clone Debug for EarlyStopping { name, patience, min_delta, larger_is_better, restore_best, best });

impl EarlyStopping {
    /// Creates a callback that stops the training when a metric of the history, `"val_loss"` for
    /// instance, has not improved for `patience` epochs.
    ///
    /// The metric must decrease. It must increase if its name ends in `accuracy`, `acc`, `auc`, `auroc`, `dice`,
    /// `f1`, `iou`, `precision`, `psnr`, `r2`, `recall` or `ssim`, with or without `_score` after it. For other
    /// names, see [`larger_is_better`](Self::larger_is_better).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let stop = EarlyStopping::new("val_accuracy", 5);
    /// assert!(format!("{stop:?}").contains("larger_is_better: true"));
    /// ```
    pub fn new(name: &str, patience: usize) -> Self {
        Self {
            name: name.to_owned(),
            patience,
            min_delta: 0.0,
            larger_is_better: is_better_larger(name),
            restore_best: false,
            best: None,
        }
    }

    setters! {
        /// Sets whether the metric must increase: `mode="max"` in PyTorch Lightning.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let stop = EarlyStopping::new("val_reward", 5).larger_is_better(true);
        /// assert!(format!("{stop:?}").contains("larger_is_better: true"));
        /// ```
        pub fn larger_is_better(self, larger_is_better: bool): self.larger_is_better = larger_is_better;

        /// Sets how much a metric must improve in order to count as better.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let stop = EarlyStopping::new("val_loss", 5).min_delta(0.001);
        /// assert!(format!("{stop:?}").contains("min_delta: 0.001"));
        /// ```
        pub fn min_delta(self, min_delta: f64): self.min_delta = min_delta;

        /// Sets whether the model gets back the parameters and buffers of its best epoch at the end, also if
        /// all epochs were run. The callback keeps a copy of them; after an error or an interrupt the model
        /// stays as it is.
        ///
        /// A training that is resumed from a checkpoint restores the best epoch since then.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// manual_seed(0);
        /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 2.0); // it will jump
        /// let stop = EarlyStopping::new("val_loss", 3).restore_best(true);
        /// let mut trainer = Trainer::new(20).callback(stop);
        /// let history = trainer.fit(&mut model, &Digits::new())?;
        /// let best = history.values("val_loss").into_iter().fold(f64::INFINITY, f64::min);
        /// let loss = trainer.validate(&model, &Digits::new())?["val_loss"];
        /// assert!((loss - best).abs() < 1e-6);
        /// # Ok::<(), Error>(())
        /// ```
        pub fn restore_best(self, restore: bool): self.restore_best = restore;
    }
}

impl Callback for EarlyStopping {
    // The epoch at which it stops follows from the history alone, so a resumed training stops at the
    // same epoch as an uninterrupted one.
    fn on_epoch_end(&mut self, end: &EpochEnd<'_>) -> Result<Flow> {
        let Some(value) = end.epoch.metric(&self.name) else {
            return Err(error::name("metric", &self.name, end.epoch.metrics.keys()));
        };
        let sign = if self.larger_is_better { 1.0 } else { -1.0 };
        let (mut best, mut waited) = (f64::NEG_INFINITY, 0);
        for value in end.history.values(&self.name) {
            let value = value * sign;
            match value - best > self.min_delta {
                true => (best, waited) = (value, 0),
                false => waited += 1,
            }
        }
        if self.restore_best {
            self.keep_best(value * sign, end.model)?;
        }
        match waited >= self.patience.max(1) {
            true => Ok(Flow::Stop),
            false => Ok(Flow::Continue),
        }
    }

    fn on_fit_end(&mut self, end: &FitEnd<'_>) -> Result<()> {
        match self.best.take() {
            Some((_, best)) if end.completed => best.restore(end.model),
            _ => Ok(()),
        }
    }
}

impl EarlyStopping {
    /// Keeps a copy of the model if its value is better than those of the other epochs of this training.
    fn keep_best(&mut self, value: f64, model: &dyn Parameters) -> Result<()> {
        let best = self.best.as_ref().map(|(best, _)| *best);
        if best.is_none_or(|best| value - best > self.min_delta) {
            // Any other value is better than NaN.
            self.best = Some((value.max(f64::NEG_INFINITY), Snapshot::of(model)?));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Parameter, ParametersExt};
    use crate::optim::SGD;
    use crate::tensor::full;
    use crate::train::Metrics;
    use crate::train::{Epoch, History};

    /// Runs epochs with these losses, after the epochs of a checkpoint; the parameter of the model is the loss.
    /// Returns the parameter that is restored.
    fn restored(checkpoint: &[f64], losses: &[f64]) -> Result<f64> {
        let mut stop = EarlyStopping::new("val_loss", 100).restore_best(true);
        let model = vec![Parameter::new(&full((), 0.0))];
        let epoch = |loss: &f64| Epoch {
            metrics: Metrics::from_iter([("val_loss".to_owned(), *loss)]),
            ..Epoch::default()
        };
        let mut history = History {
            epochs: checkpoint.iter().map(epoch).collect(),
            ..History::default()
        };
        for loss in losses {
            model[0].set(&full((), *loss));
            history.epochs.push(epoch(loss));
            stop.on_epoch_end(&EpochEnd {
                epoch: &epoch(loss),
                history: &history,
                step: 0,
                model: &model,
                optimizer: &SGD::new(model.parameters(), 0.1),
                unfinished: None,
            })?;
        }
        stop.on_fit_end(&FitEnd {
            model: &model,
            history: &history,
            completed: true,
        })?;
        Ok(model[0].tensor().item())
    }

    /// Returns whether a training stops in the epoch after the first, which has a smaller value.
    fn stops(mut stop: EarlyStopping) -> bool {
        let model = Vec::<Parameter>::new();
        let epoch = |value: f64| Epoch {
            metrics: Metrics::from_iter([(stop.name.clone(), value)]),
            ..Epoch::default()
        };
        let history = History {
            epochs: vec![epoch(2.0), epoch(1.0)],
            ..History::default()
        };
        let flow = stop.on_epoch_end(&EpochEnd {
            epoch: &history.epochs[1],
            history: &history,
            step: 0,
            model: &model,
            optimizer: &SGD::new(vec![], 0.1),
            unfinished: None,
        });
        flow.unwrap() == Flow::Stop
    }

    #[test]
    fn the_direction_follows_from_the_name_or_is_set() {
        for name in [
            "val_accuracy",
            "accuracy",
            "val_f1",
            "val_f1_score",
            "val_auroc",
            "train_recall",
            "val_r2",
        ] {
            assert!(stops(EarlyStopping::new(name, 1)), "{name}");
            let stop = EarlyStopping::new(name, 1).larger_is_better(false);
            assert!(!stops(stop), "{name}");
        }
        for name in ["val_loss", "val_perplexity", "val_reward", "val_f1_loss"] {
            assert!(!stops(EarlyStopping::new(name, 1)), "{name}");
            let stop = EarlyStopping::new(name, 1).larger_is_better(true);
            assert!(stops(stop), "{name}");
        }
    }

    #[test]
    fn the_best_epoch_since_the_checkpoint_is_restored() -> Result<()> {
        let near = |found: f64, want: f64| assert!((found - want).abs() < 1e-6, "{found}");
        near(restored(&[], &[0.5, 0.25, 0.375])?, 0.25);
        near(restored(&[0.125], &[0.5, 0.25, 0.375])?, 0.25);
        near(restored(&[0.125], &[f64::NAN, 0.5, 0.25, 0.375])?, 0.25);
        near(restored(&[f64::NAN], &[0.5])?, 0.5);
        Ok(())
    }
}
