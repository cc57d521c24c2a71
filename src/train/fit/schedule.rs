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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::{LrSchedule, OneCycle, ReduceOnPlateau};
    use crate::tensor::manual_seed;
    use crate::train::tests::{Quarters, mlp, temporary};
    use crate::train::{Checkpoint, History, Trainer};

    fn lrs(history: &History) -> Vec<f64> {
        history.epochs.iter().map(|epoch| epoch.lr).collect()
    }

    #[test]
    fn a_schedule_by_a_metric_continues_after_a_checkpoint() -> Result<()> {
        let (data, path) = (Quarters::new(50), temporary("plateau"));
        let schedule = || {
            ReduceOnPlateau::new("val_loss")
                .patience(0)
                .absolute_threshold(10.0)
        };
        let train = |trainer: Trainer| {
            manual_seed(6);
            trainer.schedule(schedule()).fit(&mut mlp(0.0), &data)
        };
        let whole = train(Trainer::new(6))?;
        train(Trainer::new(3).callback(Checkpoint::new(&path)))?;
        let resumed = train(Trainer::new(6).resume_from(&path))?;
        assert_eq!(lrs(&resumed), lrs(&whole));
        assert!(lrs(&whole)[5] < lrs(&whole)[0], "{:?}", lrs(&whole));
        std::fs::remove_file(path)?;
        Ok(())
    }

    #[test]
    fn a_schedule_by_an_unknown_metric_is_refused() {
        let schedule = ReduceOnPlateau::new("val_los");
        let mut trainer = Trainer::new(2).schedule(schedule);
        let message = trainer.fit(&mut mlp(0.0), &Quarters::new(20)).unwrap_err();
        let message = message.to_string();
        assert!(message.contains("no metric named \"val_los\""), "{message}");
        assert!(message.contains("val_loss"), "{message}");
    }

    #[test]
    fn a_cycle_counts_steps() -> Result<()> {
        let mut trainer = Trainer::new(2)
            .log_every(1)
            .schedule_steps(OneCycle::new(8));
        let history = trainer.fit(&mut mlp(0.0), &Quarters::new(50))?;
        let lrs: Vec<f64> = history
            .intervals
            .iter()
            .map(|interval| interval.lr)
            .collect();
        let want: Vec<f64> = (0..8).map(|step| OneCycle::new(8).lr(0.02, step)).collect();
        assert_eq!(lrs, want);
        assert!(lrs[0] > 0.0 && lrs[2] > 3.0 * lrs[7], "{lrs:?}");
        Ok(())
    }
}
