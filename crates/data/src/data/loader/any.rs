//! Loaders whose type of batches is erased, so that the loop through them is compiled once.

use super::batches::AnyBatches;
use super::plan::{AnyDataset, Plan, Share};
use crate::data::{AnyBatch, Sampler};
use crate::erased::Erased;
use crate::error::{Result, attempt, refuse};
use crate::tensor::{draw_seed, permutation};
use candle_core::Device;
use std::sync::Arc;

/// The settings of a [`DataLoader`](super::DataLoader), and its data set.
#[derive(Clone)]
pub struct AnyLoader {
    pub(super) dataset: Arc<dyn AnyDataset>,
    pub(super) batch_size: usize,
    pub(super) shuffle: bool,
    pub(super) sampler: Option<Arc<dyn Sampler>>,
    pub(super) drop_last: bool,
    pub(super) prefetch: usize,
    pub(super) device: Option<Device>,
    /// This rank, and the number of ranks that share each batch.
    pub(super) rank: (usize, usize),
}

#[doc(hidden)]
impl AnyLoader {
    pub(super) fn new(dataset: Arc<dyn AnyDataset>) -> Erased<Self> {
        Erased::new(AnyLoader {
            dataset,
            batch_size: 32,
            shuffle: false,
            sampler: None,
            drop_last: false,
            prefetch: 2,
            device: None,
            rank: (0, 1),
        })
    }

    pub(super) fn choose(&mut self, sampler: Arc<dyn Sampler>) {
        self.sampler = Some(sampler);
    }

    /// Returns the loader whose batches are on this device.
    pub fn moved_to(&self, device: &Device) -> Self {
        let device = Some(device.clone());
        AnyLoader {
            device,
            ..self.clone()
        }
    }

    /// Returns the loader of a rank, which takes its share of each batch.
    pub fn shared(&self, rank: usize, size: usize) -> Self {
        AnyLoader {
            rank: (rank, size),
            ..self.clone()
        }
    }

    /// Returns the share of a batch that this loader takes; batches are counted from 0.
    pub fn share(&self, batch: usize) -> Share {
        let before = batch % self.num_batches().max(1) * self.batch_size;
        let total = self.batch_size.min(self.num_examples() - before);
        Share::new(total, self.rank.0, self.rank.1)
    }

    /// Returns the number of examples in one loop.
    pub fn num_examples(&self) -> usize {
        match &self.sampler {
            Some(sampler) => sampler.num_samples(),
            None => self.dataset.examples(),
        }
    }

    pub fn num_batches(&self) -> usize {
        let examples = self.num_examples();
        match (self.batch_size, self.drop_last) {
            (0, _) => 0,
            (size, true) => examples / size,
            (size, false) => examples.div_ceil(size),
        }
    }

    /// Returns the batches of a new loop.
    pub fn batches(&self) -> AnyBatches {
        AnyBatches::new(self.plan(), self.prefetch)
    }

    /// Returns a batch as an example of what a loop returns. It does not call the sampler, which may count its
    /// loops: then the batch is the first example of the data set.
    pub fn example(&self) -> Result<Box<dyn AnyBatch>> {
        let mut plain = self.clone();
        if plain.sampler.take().is_some() {
            plain.batch_size = 1;
            plain.shuffle = false;
        }
        plain.plan()?.batch(0)
    }

    pub fn show_text(&self) -> String {
        format!(
            "DataLoader({} examples, batch_size={}, {} batches{}{})",
            self.num_examples(),
            self.batch_size,
            self.num_batches(),
            match (&self.sampler, self.shuffle) {
                (Some(_), _) => ", sampler",
                (None, true) => ", shuffle",
                (None, false) => "",
            },
            if self.drop_last { ", drop_last" } else { "" },
        )
    }

    /// Refuses settings with which a loop would silently do nothing.
    fn check(&self) -> Result<()> {
        let examples = self.num_examples();
        refuse!(if self.batch_size == 0; argument("DataLoader", 0);
            "a batch size of at least 1",
            "Set the number of examples in a batch: .batch_size(32)");
        refuse!(if examples == 0; state("DataLoader");
            "the data set is empty", "Give it at least one example");
        refuse!(if self.num_batches() == 0; argument("DataLoader with drop_last", self.batch_size);
            "a batch size of at most {examples}, the number of examples",
            "Choose a smaller batch size, or .drop_last(false)");
        Ok(())
    }

    /// Prepares one loop. All random values are drawn here, on the thread of the loop.
    fn plan(&self) -> Result<Plan> {
        self.check()?;
        let examples = self.num_examples();
        let seed = draw_seed();
        let order = match &self.sampler {
            Some(sampler) => attempt(|| sampler.sample()).flatten()?,
            None if self.shuffle => permutation(examples),
            None => (0..examples).collect(),
        };
        refuse!(if order.len() != examples; argument("DataLoader", order.len());
            "a sampler of {examples} indices, its num_samples()",
            "Return as many indices from sample() as num_samples() says");
        Ok(Plan {
            loader: self.clone(),
            order,
            num_batches: self.num_batches(),
            seed,
        })
    }
}
