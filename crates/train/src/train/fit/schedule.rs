//! The learning rates of a training.

use super::Fit;
use crate::error::{self, Result};

impl Fit<'_> {
    /// Sets the learning rates of the next step.
    pub(super) fn schedule(&mut self) -> Result<()> {
        let time = match self.trainer.schedule_by_step {
            true => self.step,
            false => self.epoch,
        };
        let (schedule, history) = (&self.trainer.schedule, &self.trainer.history);
        let values = match (schedule.metric(), history.epochs.last()) {
            (Some(name), Some(last)) if last.metric(name).is_none() => {
                return Err(error::name("metric", name, last.metrics.keys()));
            }
            (Some(name), _) => history.values(name),
            (None, _) => vec![],
        };
        let lrs = self.base_lrs.iter();
        let lrs: Vec<f64> = lrs
            .map(|base| schedule.lr_after(&values, *base, time))
            .collect();
        self.optimizer.set_lrs(&lrs);
        Ok(())
    }
}
