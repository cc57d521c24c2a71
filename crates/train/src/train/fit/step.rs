//! Training on one batch.

use super::ranks::{asked_to_end, call_each};
use super::{Fit, STEP_LOSS};
use crate::data::{AnyBatch, Share};
use crate::device::explain_gpu;
use crate::distributed;
use crate::error::{Result, attempt};
use crate::nn::ParametersExt;
use crate::optim::try_clip;
use crate::tensor::{GradStore, Metric, Tensor};
use crate::train::parallel::{self, Gradients, OfRank};
use crate::train::trainer::State;
use crate::train::{Callback, Flow, Step};

impl Fit<'_> {
    pub(super) fn train_batch(&mut self, batch: &dyn AnyBatch) -> Result<()> {
        self.schedule()?;
        let device = self.trainer.in_use[0].clone();
        explain_gpu(self.step_on(batch), &device, None)
    }

    /// Computes the gradients of a batch, and makes a step if it was the last batch of the step.
    pub(super) fn step_on(&mut self, batch: &dyn AnyBatch) -> Result<()> {
        if !self.steps.is_automatic(self.model) {
            return self.manual_step(batch);
        }
        let examples = batch.examples()?;
        let share = self.train.share(self.batch);
        let parts = parallel::split(batch, &self.trainer.in_use)?;
        let sync = self.trainer.sync_batch_norm;
        let rank = self.ranks.as_ref().map(|ranks| OfRank {
            part: share.part,
            across: sync.then(|| ranks.across(share)),
        });
        let (
            Gradients {
                mut loss,
                gradients,
            },
            metrics,
        ) = self.trainer.in_precision(|| {
            parallel::backward(self.steps, self.model, &self.others, &parts, rank.as_ref())
        })?;
        if self.ranks.is_none()
            && let Err(error) = self.check_loss(&loss, batch)
        {
            // The board shows it.
            self.end_of_batch(share, metrics, loss, (examples, examples));
            return Err(error);
        }
        let (own, total) = match &self.ranks {
            None => (examples, examples),
            Some(_) => (share.own, share.part.total),
        };
        let ends = (self.batch + 1).is_multiple_of(self.trainer.accumulate)
            || self.batch + 1 == self.train.num_batches();
        let accumulated = &mut self.accumulated;
        let mean = accumulated.add(self.model, gradients, (own, total), ends)?;
        if let Some((mut gradients, fraction)) = mean {
            if let Some(ranks) = &mut self.ranks {
                distributed::at(self.epoch + 1, self.step + 1);
                let own_loss = (&loss, own as f64 / total as f64);
                loss = ranks.reduce(self.model, &mut gradients, fraction, own_loss)?;
                self.check_mean_loss(&loss)?;
            }
            self.flow = self.on_step(batch, &loss, &mut gradients, self.step)?;
            let norm = match self.trainer.clip > 0.0 {
                true => {
                    let parameters = self.model.parameters();
                    Some(try_clip(&parameters, &mut gradients, self.trainer.clip)?)
                }
                false => None,
            };
            if self.ranks.is_none() {
                self.check_gradients(&gradients, norm.as_ref())?;
            }
            attempt(|| self.optimizer.step(&gradients))?;
            parallel::broadcast(self.model, &self.others)?;
            self.step += 1;
        }
        self.end_of_batch(share, metrics, loss, (examples, total));
        match &self.ranks {
            Some(ranks) if ranks.must_end => Err(asked_to_end()),
            _ => Ok(()),
        }
    }

    /// Records the metrics and the loss of a batch, which has `examples` on this process and `total` on all.
    pub(super) fn end_of_batch(
        &mut self,
        share: Share,
        mut metrics: Vec<Metric>,
        loss: Tensor,
        (examples, total): (usize, usize),
    ) {
        metrics.push(Metric {
            name: STEP_LOSS.to_owned(),
            value: loss,
            weight: examples as f64,
        });
        self.recorder.add(share, metrics);
        self.speed.interval += total;
        self.batch += 1;
    }

    /// Calls the callbacks, after `done` steps; returns whether training continues.
    pub(super) fn on_step(
        &mut self,
        batch: &dyn AnyBatch,
        loss: &Tensor,
        gradients: &mut GradStore,
        done: usize,
    ) -> Result<Flow> {
        let mut step = Step {
            step: self.step + 1,
            done,
            epoch: self.epoch + 1,
            loss,
            model: &*self.model,
            gradients,
            batch,
        };
        let trainer: &mut State = self.trainer;
        let call = |callback: &mut dyn Callback| callback.on_step(&mut step);
        let flow = call_each(&mut trainer.callbacks, &trainer.ranks, call)?;
        self.agreed(flow)
    }
}
