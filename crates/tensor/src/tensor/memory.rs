//! The memory that tensors share.

use super::raw::Candle;

/// Returns the address of a tensor's storage. Tensors that share memory share the `Storage` behind
/// Candle's lock.
pub(crate) fn storage_address(tensor: &Candle) -> usize {
    let (storage, _) = tensor.storage_and_layout();
    std::ptr::from_ref(&*storage).addr()
}
