//! The plan of one loop through a loader: the order of the examples, and how each batch is made.

use crate::data::{AnyBatch, BatchData, Dataset};
use crate::tensor::with_seed;
use candle_core::{Device, Result};
use std::sync::Arc;

/// A [`Dataset`] as a trait object, whose batches are boxed.
pub(super) trait AnyDataset: Send + Sync {
    fn examples(&self) -> usize;

    fn boxed(&self, indices: &[usize]) -> Result<Box<dyn AnyBatch>>;
}

impl<B: BatchData> AnyDataset for Arc<dyn Dataset<B>> {
    fn examples(&self) -> usize {
        (**self).len()
    }

    fn boxed(&self, indices: &[usize]) -> Result<Box<dyn AnyBatch>> {
        Ok(Box::new((**self).get(indices)?))
    }
}

/// The order of one loop, from which any thread makes the same batches.
pub(super) struct Plan {
    pub(super) dataset: Arc<dyn AnyDataset>,
    pub(super) order: Vec<usize>,
    pub(super) batch_size: usize,
    pub(super) num_batches: usize,
    pub(super) seed: u64,
    pub(super) device: Option<Device>,
}

impl Plan {
    pub(super) fn batch(&self, number: usize) -> Result<Box<dyn AnyBatch>> {
        let start = number * self.batch_size;
        let end = (start + self.batch_size).min(self.order.len());
        let batch = with_seed(self.seed.wrapping_add(number as u64), || {
            self.dataset.boxed(&self.order[start..end])
        })?;
        match &self.device {
            None => Ok(batch),
            Some(device) => batch.moved_to(device),
        }
    }
}
