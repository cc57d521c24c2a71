//! Batches whose type is erased. The loader's threads and the training loop use them, so that both are
//! compiled once, in this crate, and not in each cell that has its own type of batches.

use super::BatchData;
use candle_core::{Device, Result};
use std::any::Any;

/// A [`BatchData`] as a trait object.
pub(crate) trait AnyBatch: Any + Send + Sync {
    fn examples(&self) -> Result<usize>;

    fn part_on(&self, start: usize, len: usize, device: &Device) -> Result<Box<dyn AnyBatch>>;

    fn moved_to(&self, device: &Device) -> Result<Box<dyn AnyBatch>>;
}

impl<B: BatchData> AnyBatch for B {
    fn examples(&self) -> Result<usize> {
        self.num_examples()
    }

    fn part_on(&self, start: usize, len: usize, device: &Device) -> Result<Box<dyn AnyBatch>> {
        Ok(Box::new(self.part(start, len, device)?))
    }

    fn moved_to(&self, device: &Device) -> Result<Box<dyn AnyBatch>> {
        Ok(Box::new(self.to_device(device)?))
    }
}

/// Returns a boxed batch as its own type.
///
/// # Panics
/// If it has another type: a loop mixed up the batches of two data sets.
pub(crate) fn typed<B: BatchData>(batch: Box<dyn AnyBatch>) -> B {
    let batch: Box<dyn Any> = batch;
    *batch.downcast().expect("a batch of the data set's type")
}
