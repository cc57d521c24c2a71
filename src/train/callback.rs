//! Callbacks: what runs between the steps and epochs of a training.

use super::{Epoch, History, Interval};
use crate::error;
use crate::nn::Parameters;
use crate::optim::Optimizer;
use candle_core::Result;

/// Runs while a model trains: writes logs, saves checkpoints, stops the training early.
///
/// A closure that takes an [`Interval`] is a callback as well.
///
/// ```
/// use taper::prelude::*;
///
/// /// Stops as soon as the training loss is below a limit.
/// struct Until(f64);
///
/// impl Callback for Until {
///     fn on_epoch_end(&mut self, end: &EpochEnd<'_>) -> Result<Flow> {
///         let good = end.epoch.metric("train_loss").is_some_and(|loss| loss < self.0);
///         Ok(if good { Flow::Stop } else { Flow::Continue })
///     }
/// }
///
/// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
/// let mut trainer = Trainer::new(100)
///     .callback(Until(100.0))
///     .callback(|interval: &Interval| println!("{}", interval.show_text()));
/// assert_eq!(trainer.fit(&mut model, &Digits::new())?.epochs.len(), 1);
/// # Ok::<(), Error>(())
/// ```
pub trait Callback: Send {
    /// Runs after each interval, when its metrics have been fetched from the device.
    ///
    /// # Errors
    /// An error, such as that of a failed write, ends the training.
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
    ///
    /// let mut steps = Steps(vec![]);
    /// steps.on_interval(&Interval { step: 7, ..Interval::default() })?;
    /// assert_eq!(steps.0, [7]);
    /// # Ok::<(), Error>(())
    /// ```
    fn on_interval(&mut self, interval: &Interval) -> Result<()> {
        let _ = interval;
        Ok(())
    }

    /// Runs after each epoch and its validation.
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
    ///
    /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
    /// let mut trainer = Trainer::new(10).callback(Once);
    /// assert_eq!(trainer.fit(&mut model, &Digits::new())?.epochs.len(), 1);
    /// # Ok::<(), Error>(())
    /// ```
    fn on_epoch_end(&mut self, end: &EpochEnd<'_>) -> Result<Flow> {
        let _ = end;
        Ok(Flow::Continue)
    }

    /// Runs when training has ended: after its last epoch, or by an error or an interrupt.
    ///
    /// # Errors
    /// As for [`on_interval`](Callback::on_interval). If training itself failed, its error is returned
    /// instead.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// struct Farewell(String);
    ///
    /// impl Callback for Farewell {
    ///     fn on_fit_end(&mut self) -> Result<()> {
    ///         self.0 = "Training is over.".to_owned();
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut farewell = Farewell(String::new());
    /// farewell.on_fit_end()?;
    /// assert_eq!(farewell.0, "Training is over.");
    /// # Ok::<(), Error>(())
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

/// Whether training continues after an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continues with the next epoch.
    Continue,
    /// Stops the training and keeps the model as it is.
    Stop,
}

/// What a callback sees after an epoch.
pub struct EpochEnd<'a> {
    /// The metrics of the epoch.
    pub epoch: &'a Epoch,
    /// The metrics of all epochs so far, including this one.
    pub history: &'a History,
    /// How many steps were made since training began.
    pub step: usize,
    /// The model, on the first device.
    pub model: &'a dyn Parameters,
    /// The optimiser.
    pub optimizer: &'a dyn Optimizer,
}

/// Stops when a metric has not improved for some epochs. From d2l's chapter *Generalization in
/// Deep Learning*.
///
/// ```
/// use taper::prelude::*;
///
/// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
/// let mut trainer = Trainer::new(100).callback(EarlyStopping::new("val_loss", 1).min_delta(0.5));
/// assert!(trainer.fit(&mut model, &Digits::new())?.epochs.len() < 100);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct EarlyStopping {
    name: String,
    patience: usize,
    min_delta: f64,
    larger_is_better: bool,
}

impl EarlyStopping {
    /// Watches a metric of the history, `"val_loss"` for instance, which must decrease; one whose
    /// name ends in `accuracy` must increase.
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
            larger_is_better: name.ends_with("accuracy"),
        }
    }

    /// Sets how much a metric must improve in order to count as better.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let stop = EarlyStopping::new("val_loss", 5).min_delta(0.001);
    /// assert!(format!("{stop:?}").contains("min_delta: 0.001"));
    /// ```
    pub fn min_delta(mut self, min_delta: f64) -> Self {
        self.min_delta = min_delta;
        self
    }
}

impl Callback for EarlyStopping {
    // All state is in the history, so a resumed training stops at the same epoch as an uninterrupted
    // one.
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
