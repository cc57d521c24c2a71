//! When the values of a tensor were changed in place.
//!
//! Only parameters and buffers change, and the graph of a loss may read the memory that changes. A backward pass would
//! compute with the new values, so it must notice. A kernel knows how many changes there were when it was recorded.
//! Candle's operations do not, but the ids of its tensors are counted, so a change has a place among them.

use super::{Raw, storage_address};
use candle_core::Device;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// How many changes there have been.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// The id of a tensor that was created after the last change.
static NEWEST: AtomicU64 = AtomicU64::new(0);

/// A change of the values in a storage.
#[derive(Clone)]
struct Change {
    number: u64,
    /// The id of a tensor that was created then.
    id: u64,
    /// The path of the parameter in its model, if it is known.
    path: Option<Arc<str>>,
}

/// The last change of each storage, by its address. A new storage at the address of an old one is read only after that
/// change.
static LAST: LazyLock<Mutex<HashMap<usize, Change>>> = LazyLock::new(Mutex::default);

/// Returns the time, in changes.
pub(crate) fn changes() -> u64 {
    CHANGES.load(Ordering::Relaxed)
}

/// Notes that the values of a parameter with this path have been changed in place.
pub(crate) fn mark_changed(tensor: &Raw, path: Option<Arc<str>>) {
    let number = CHANGES.fetch_add(1, Ordering::Relaxed) + 1;
    let id = Raw::new(0u8, &Device::Cpu).map_or(0, |new| id_of(&new));
    NEWEST.fetch_max(id, Ordering::Relaxed);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.insert(storage_address(tensor), Change { number, id, path });
}

/// Returns the path of a parameter that has been changed.
pub(crate) fn path_of_changed(tensor: &Raw) -> Option<Arc<str>> {
    last_change(tensor)?.path
}

/// Returns whether the values of a tensor have been changed in place after this time.
pub(crate) fn changed_since(tensor: &Raw, time: u64) -> bool {
    // Nothing has changed at all, which is so in most backward passes.
    changes() != time && last_change(tensor).is_some_and(|change| change.number > time)
}

/// Returns a variable in the graph of a loss that has been changed in place after the loss was computed.
pub(crate) fn changed_after(loss: &Raw) -> Option<&Raw> {
    let id = id_of(loss);
    if id == 0 || id > NEWEST.load(Ordering::Relaxed) {
        return None;
    }
    let is_newer = |node: &&Raw| last_change(node).is_some_and(|change| change.id > id);
    let mut variables = loss.sorted_nodes().into_iter().filter(|x| x.is_variable());
    variables.find(is_newer)
}

fn last_change(tensor: &Raw) -> Option<Change> {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.get(&storage_address(tensor)).cloned()
}

/// Returns the number in an id, which Candle only prints; 0 if there is none.
fn id_of(tensor: &Raw) -> u64 {
    let text = format!("{:?}", tensor.id());
    let digits = text.trim_matches(|c: char| !c.is_ascii_digit());
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Var;

    #[test]
    fn a_change_after_a_loss_of_candles_is_noticed() {
        let [x, other] = [(); 2].map(|()| Var::new(&[1f32, 2.0], &Device::Cpu).unwrap());
        let loss = || x.sqr().and_then(|x| x.sum_all()).unwrap();
        let before = loss();
        mark_changed(&other, None);
        assert!(changed_after(&before).is_none());
        mark_changed(&x, None);
        assert_eq!(changed_after(&before).map(Raw::id), Some(x.id()));
        assert!(changed_after(&loss()).is_none());
    }
}
