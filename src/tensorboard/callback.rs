//! Training in TensorBoard.

use super::SummaryWriter;
use crate::error::Result;
use crate::train::{Callback, EpochEnd, Flow, Interval};

/// What the [`History`](crate::train::History) gets goes to TensorBoard as well, by step: the numbers of
/// each interval, with its learning rate and speed, and those of the validation.
///
/// ```
/// use taper::prelude::*;
///
/// # let folder = std::env::temp_dir().join(format!("taper_runs_{}", std::process::id()));
/// let trainer = Trainer::new(10).callback(SummaryWriter::new(folder.join("lenet"))?);
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

    fn on_fit_end(&mut self) -> Result<()> {
        self.flush()
    }
}
