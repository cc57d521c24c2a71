//! The parts of a training that depend on the other ranks, if there are any.

use super::Fit;
use super::ranks::is_first;
use crate::notebook::progress;
use crate::train::Flow;
use crate::train::recorder::Fetched;
use candle_core::Result;

impl Fit<'_> {
    /// Returns the progress bar, which only rank 0 shows.
    pub(super) fn bar(&self, steps: usize) -> Box<dyn Iterator<Item = usize>> {
        match is_first(&self.trainer.ranks) {
            true => Box::new(progress(0..steps).description("training")),
            false => Box::new(0..steps),
        }
    }

    /// Fetches the metrics from the device: the means over all ranks.
    pub(super) fn fetch(&mut self) -> Result<Fetched> {
        let mut fetched = self.recorder.fetch()?;
        if let Some(ranks) = &self.trainer.ranks {
            fetched.reduce(&**ranks)?;
        }
        Ok(fetched)
    }

    /// Returns whether the training stops: it does if a callback of any rank stops it.
    pub(super) fn agreed(&self, flow: Flow) -> Result<Flow> {
        let Some(ranks) = self
            .trainer
            .ranks
            .as_ref()
            .filter(|_| !self.trainer.callbacks.is_empty())
        else {
            return Ok(flow);
        };
        match ranks.count(flow == Flow::Stop)? {
            0 => Ok(Flow::Continue),
            _ => Ok(Flow::Stop),
        }
    }
}
