//! The parts of a training that depend on the other ranks, if there are any.

use super::Fit;
use super::ranks::is_first;
use crate::error::Result;
use crate::notebook::progress;
use crate::train::Flow;
use crate::train::recorder::Fetched;

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

    /// Returns [`Flow::Stop`] on all ranks if a callback of any rank stops the training.
    pub(super) fn agreed(&self, flow: Flow) -> Result<Flow> {
        match &self.trainer.ranks {
            Some(ranks) if !self.trainer.callbacks.is_empty() => {
                match ranks.count(flow == Flow::Stop)? {
                    0 => Ok(Flow::Continue),
                    _ => Ok(Flow::Stop),
                }
            }
            _ => Ok(flow),
        }
    }
}
