//! Batches whose type is erased. The loader's threads and the training loop use them, so that both are
//! compiled once, in this crate, and not in each cell that has its own type of batches.

use super::Searched;
use crate::error::Result;
use candle_core::Device;
use std::any::Any;

/// A [`BatchData`](super::BatchData) as a trait object.
#[allow(missing_docs)]
pub trait AnyBatch: Any + Searched + Send + Sync {
    fn examples(&self) -> Result<usize>;

    fn part_on(&self, start: usize, len: usize, device: &Device) -> Result<Box<dyn AnyBatch>>;

    fn moved_to(&self, device: &Device) -> Result<Box<dyn AnyBatch>>;
}
