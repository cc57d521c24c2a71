//! [`SummaryWriter`] as a callback of a trainer.

use super::SummaryWriter;
use crate::error::Result;
use crate::train::{Callback, EpochEnd, FitEnd, Flow, Interval};

/// Logs the values of the [`History`](crate::train::History) by step: the metrics of each interval with
/// the learning rate and the speed, and the validation metrics of each epoch.
///
/// ```
/// use taper::prelude::*;
///
/// # let folder = std::env::temp_dir().join(format!("taper_callback_{}", std::process::id()));
/// let writer = SummaryWriter::new(folder.join("lenet"))?;
/// let log = writer.path().to_owned();
/// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
/// Trainer::new(1).callback(writer).fit(&mut model, &Digits::new())?;
/// assert!(log.metadata()?.len() > 100); // bytes
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Error>(())
/// ```
impl Callback for SummaryWriter {
    fn on_interval(&mut self, interval: &Interval) -> Result<()> {
        for (name, value) in &interval.metrics {
            self.add_scalar(name, *value, interval.step)?;
        }
        self.add_scalar("lr", interval.lr, interval.step)?;
        self.add_scalar(
            "samples_per_second",
            interval.samples_per_second,
            interval.step,
        )
    }

    fn on_epoch_end(&mut self, end: &EpochEnd<'_>) -> Result<Flow> {
        let metrics = end.epoch.metrics.iter();
        for (name, value) in metrics.filter(|(name, _)| name.starts_with("val_")) {
            self.add_scalar(name, *value, end.step)?;
        }
        self.flush()?;
        Ok(Flow::Continue)
    }

    fn on_fit_end(&mut self, _: &FitEnd<'_>) -> Result<()> {
        self.flush()
    }

    fn on_first_rank_only(&self) -> bool {
        true
    }
}
