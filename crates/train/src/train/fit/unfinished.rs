//! Interrupted epochs: saving their state, and continuing them in a later training.

use super::Fit;
use super::ranks::runs_on;
use crate::data::AnyBatch;
use crate::error::Result;
use crate::tensor::{generator_state, restore_generator};
use crate::train::recorder::Fetched;
use crate::train::trainer::State;
use crate::train::unfinished::Unfinished;
use crate::train::{Epoch, EpochEnd};

impl Fit<'_> {
    /// Returns the batches of the next epoch; if it was interrupted, those that are left.
    pub(super) fn begin_epoch(
        &mut self,
    ) -> impl Iterator<Item = Result<Box<dyn AnyBatch>>> + use<> {
        let Unfinished {
            batch,
            random,
            metrics,
        } = self.unfinished.take().unwrap_or_else(|| Unfinished {
            batch: 0,
            random: generator_state(),
            metrics: vec![],
        });
        let now = generator_state();
        if batch > 0 {
            restore_generator(random);
        }
        self.epoch_random = random;
        let batches = self.train.batches();
        if batch > 0 {
            restore_generator(now);
        }
        self.batch = batch;
        self.fetched = Fetched::new(metrics);
        batches.skip(batch)
    }

    /// Lets callbacks save the state in the middle of an epoch, between two steps.
    pub(super) fn save_unfinished(&mut self) -> Result<()> {
        let unfinished = Unfinished {
            batch: self.batch,
            random: self.epoch_random,
            metrics: self.fetched.entries(),
        };
        let epoch = Epoch {
            epoch: self.epoch,
            ..Epoch::default()
        };
        let trainer: &mut State = self.trainer;
        let end = EpochEnd {
            epoch: &epoch,
            history: &trainer.history,
            step: self.step,
            model: &*self.model,
            optimizer: &*self.optimizer,
            unfinished: Some(&unfinished),
        };
        let callbacks = trainer.callbacks.iter_mut();
        callbacks
            .filter(runs_on(&trainer.ranks))
            .try_for_each(|callback| callback.on_interrupt(&end))
    }
}
