//! The operations between ranks that training needs.

use super::world::World;
use crate::error::Result;
use crate::tensor::Tensor;

/// The connection between the ranks. All ranks make the same calls in the same order; each call returns
/// when its result is complete.
#[doc(hidden)]
pub trait Communicator: Send + Sync {
    /// Returns the rank of this process and the number of ranks.
    fn world(&self) -> World;

    /// Replaces the elements of `values` by their sums over the ranks. All ranks get the same bits.
    fn all_reduce(&self, values: &mut [f32]) -> Result<()>;

    /// Returns whether all ranks can sum the elements of tensors on their GPUs.
    fn sums_on_gpus(&self) -> bool {
        false
    }

    /// Returns tensors whose elements are summed over the ranks. The given tensors must be contiguous, on
    /// this rank's GPU, and of type `f32`.
    fn sums_of_tensors(&self, tensors: Vec<Tensor>) -> Result<Vec<Tensor>> {
        Ok(tensors)
    }

    /// Overwrites the bytes with those of rank 0.
    fn broadcast(&self, bytes: &mut [u8]) -> Result<()>;

    /// Ends all ranks and prints the error. `by_all` means that all ranks have failed with the same error,
    /// and not this one alone; then only rank 0 prints it.
    fn fail(&self, error: &crate::error::Error, by_all: bool);

    /// Returns whether this process was asked to end, by Ctrl-C or by a cluster's scheduler.
    fn is_asked_to_end(&self) -> bool;
}

impl dyn Communicator + '_ {
    /// Returns the sums of a few values over the ranks.
    pub fn sums(&self, values: &[f32]) -> Result<Vec<f32>> {
        let mut sums = values.to_vec();
        self.all_reduce(&mut sums)?;
        Ok(sums)
    }

    /// Returns the number of ranks on which `is_true` is set.
    pub fn count(&self, is_true: bool) -> Result<usize> {
        Ok(self.sums(&[f32::from(u8::from(is_true))])?[0] as usize)
    }

    /// Returns the bytes that rank 0 passes, which may be more or fewer than those of other ranks.
    pub fn sent_by_first(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let mut len = (bytes.len() as u64).to_le_bytes();
        self.broadcast(&mut len)?;
        let mut bytes = bytes;
        bytes.resize(u64::from_le_bytes(len) as usize, 0);
        self.broadcast(&mut bytes)?;
        Ok(bytes)
    }
}
