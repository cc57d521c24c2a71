//! The plan of one loop through a loader: the order of the examples, and how each batch is made.

use super::any::AnyLoader;
use crate::data::{AnyBatch, BatchData, Dataset};
use crate::error::{Result, attempt};
use crate::tensor::{Part, with_seed};
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
        Ok((**self).get(indices)?.into_any())
    }
}

/// The part of a batch that a rank takes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Share {
    /// The examples to compute. A rank for which none are left computes those of rank 0 again.
    pub part: Part,
    /// The number of examples that count: `part.len` or 0.
    pub own: usize,
}

impl Share {
    /// Splits `total` examples over `size` ranks, in order; if they cannot be split equally, the first
    /// ranks get one more.
    pub fn new(total: usize, rank: usize, size: usize) -> Self {
        let (each, rest) = (total / size, total % size);
        let own = each + usize::from(rank < rest);
        let (start, len) = match own {
            0 => (0, total.div_ceil(size)),
            _ => (rank * each + rank.min(rest), own),
        };
        Self {
            part: Part { start, len, total },
            own,
        }
    }
}

/// The order of the examples in one loop, and the settings with which any thread makes the same batches.
pub(super) struct Plan {
    pub(super) loader: AnyLoader,
    pub(super) order: Vec<usize>,
    pub(super) num_batches: usize,
    pub(super) seed: u64,
}

impl Plan {
    pub(super) fn batch(&self, number: usize) -> Result<Box<dyn AnyBatch>> {
        let AnyLoader {
            dataset,
            batch_size,
            device,
            rank,
            ..
        } = &self.loader;
        let start = number * batch_size;
        let end = (start + batch_size).min(self.order.len());
        let own = Share::new(end - start, rank.0, rank.1).part;
        let own = &self.order[start + own.start..][..own.len];
        // A wrong shape in the data set's own code is an error of the loop, also on another thread.
        let batch = with_seed(self.seed.wrapping_add(number as u64), || {
            attempt(|| dataset.boxed(own)).flatten()
        })?;
        match device {
            None => Ok(batch),
            Some(device) => batch.moved_to(device),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_example_of_a_batch_counts_on_one_rank() {
        for (total, size) in [(16, 4), (17, 4), (3, 4), (1, 5)] {
            let shares = (0..size).map(|rank| Share::new(total, rank, size));
            let mut next = 0;
            for share in shares {
                assert!(share.part.len > 0 && share.part.start + share.part.len <= total);
                if share.own > 0 {
                    assert_eq!((share.part.start, share.part.len), (next, share.own));
                    next += share.own;
                }
            }
            assert_eq!(next, total);
        }
    }
}
