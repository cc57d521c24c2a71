//! Those who look on while a model trains.

use super::{Epoch, History, Interval};
use crate::error;
use crate::nn::Parameters;
use crate::optim::Optimizer;
use candle_core::Result;

/// Looks on while a model trains: writes logs, saves checkpoints, says when it is enough.
///
/// A closure that takes an [`Interval`] is one as well.
///
/// ```
/// use taper::prelude::*;
///
/// struct Until(f64);
///
/// impl Callback for Until {
///     fn on_epoch_end(&mut self, end: &EpochEnd<'_>) -> Result<Flow> {
///         let good = end.epoch.metric("train_loss").is_some_and(|loss| loss < self.0);
///         Ok(if good { Flow::Stop } else { Flow::Continue })
///     }
/// }
///
/// let trainer = Trainer::new(100)
///     .callback(Until(0.01))
///     .callback(|interval: &Interval| println!("{}", interval.show_text()));
/// ```
pub trait Callback: Send {
    /// After some steps, when their numbers have been fetched from the device.
    ///
    /// # Errors
    /// Those of a writer, say; they end the training.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// struct Steps(Vec<usize>);
    ///
    /// impl Callback for Steps {
    ///     fn on_interval(&mut self, interval: &Interval) -> Result<()> {
    ///         self.0.push(interval.step);
    ///         Ok(())
    ///     }
    /// }
    /// ```
    fn on_interval(&mut self, interval: &Interval) -> Result<()> {
        let _ = interval;
        Ok(())
    }

    /// After each epoch and its validation.
    ///
    /// # Errors
    /// As for [`on_interval`](Callback::on_interval).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// struct Once;
    ///
    /// impl Callback for Once {
    ///     fn on_epoch_end(&mut self, _: &EpochEnd<'_>) -> Result<Flow> {
    ///         Ok(Flow::Stop)
    ///     }
    /// }
    /// ```
    fn on_epoch_end(&mut self, end: &EpochEnd<'_>) -> Result<Flow> {
        let _ = end;
        Ok(Flow::Continue)
    }

    /// When training has ended: after its last epoch, or by an error or an interrupt.
    ///
    /// # Errors
    /// As for [`on_interval`](Callback::on_interval); if training itself failed, that is what it says.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// struct Told;
    ///
    /// impl Callback for Told {
    ///     fn on_fit_end(&mut self) -> Result<()> {
    ///         println!("That was all.");
    ///         Ok(())
    ///     }
    /// }
    /// ```
    fn on_fit_end(&mut self) -> Result<()> {
        Ok(())
    }
}

impl<F: FnMut(&Interval) + Send> Callback for F {
    fn on_interval(&mut self, interval: &Interval) -> Result<()> {
        self(interval);
        Ok(())
    }
}

/// How training goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// With the next epoch.
    Continue,
    /// Not at all; what was trained is kept.
    Stop,
}

/// What a callback sees after an epoch.
pub struct EpochEnd<'a> {
    /// Its numbers.
    pub epoch: &'a Epoch,
    /// Those of all epochs so far, this one included.
    pub history: &'a History,
    /// How many steps were made since training began.
    pub step: usize,
    /// The model, on the first device.
    pub model: &'a dyn Parameters,
    /// The optimiser.
    pub optimizer: &'a dyn Optimizer,
}

/// Stops when a number has not become better for some epochs. From d2l's chapter *Generalization in
/// Deep Learning*.
///
/// ```
/// use taper::prelude::*;
///
/// let trainer = Trainer::new(100).callback(EarlyStopping::new("val_loss", 3));
/// ```
#[derive(Clone, Debug)]
pub struct EarlyStopping {
    name: String,
    patience: usize,
    min_delta: f64,
    larger_is_better: bool,
}

impl EarlyStopping {
    /// Watches a number of the history, `"val_loss"` for instance, which must become smaller; one
    /// whose name ends in `accuracy` must become larger.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let stop = EarlyStopping::new("val_accuracy", 5);
    /// ```
    pub fn new(name: &str, patience: usize) -> Self {
        Self {
            name: name.to_owned(),
            patience,
            min_delta: 0.0,
            larger_is_better: name.ends_with("accuracy"),
        }
    }

    /// How much better counts as better.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let stop = EarlyStopping::new("val_loss", 5).min_delta(0.001);
    /// ```
    pub fn min_delta(mut self, min_delta: f64) -> Self {
        self.min_delta = min_delta;
        self
    }
}

impl Callback for EarlyStopping {
    // It remembers nothing itself: after a checkpoint it waits as if training had never stopped.
    fn on_epoch_end(&mut self, end: &EpochEnd<'_>) -> Result<Flow> {
        if end.epoch.metric(&self.name).is_none() {
            return Err(error::name("metric", &self.name, end.epoch.metrics.keys()));
        }
        let sign = if self.larger_is_better { 1.0 } else { -1.0 };
        let (mut best, mut waited) = (f64::NEG_INFINITY, 0);
        for value in end.history.values(&self.name) {
            let value = value * sign;
            match value - best > self.min_delta {
                true => (best, waited) = (value, 0),
                false => waited += 1,
            }
        }
        match waited >= self.patience.max(1) {
            true => Ok(Flow::Stop),
            false => Ok(Flow::Continue),
        }
    }
}
