//! The memory that tensors share.

use candle_core::{Tensor, TensorId};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Returns the address of a tensor's storage. Tensors that share memory share the `Storage` behind
/// Candle's lock.
pub(crate) fn storage_address(tensor: &Tensor) -> usize {
    let (storage, _) = tensor.storage_and_layout();
    std::ptr::from_ref(&*storage).addr()
}

/// The variables and the outputs of kernels, by the address of their memory, which their views share.
static BASES: LazyLock<Mutex<HashMap<usize, TensorId>>> = LazyLock::new(Mutex::default);

fn bases() -> MutexGuard<'static, HashMap<usize, TensorId>> {
    BASES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that a tensor is not a view.
pub(crate) fn mark_base(x: &Tensor) {
    bases().insert(storage_address(x), x.id());
}

/// Removes a mark. The memory of the tensor must not have been freed, or another tensor may have it.
pub(crate) fn unmark_base(x: &Tensor) {
    bases().remove(&storage_address(x));
}

/// Returns the tensor that was marked last with the memory of a view.
pub(crate) fn base_of(view: &Tensor) -> Option<TensorId> {
    bases().get(&storage_address(view)).copied()
}
