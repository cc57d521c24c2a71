//! Whether the values that a backward pass reads are still those with which the loss was computed.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// When the values of a variable have changed in place. A backward pass must not compute with newer values than the loss.
#[derive(Default)]
pub struct Version {
    changed_at: AtomicU64,
    /// The path in the model, if it is known.
    path: OnceLock<Arc<str>>,
}

/// How many changes of variables there have been.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Returns the time, counted in changes of variables.
pub fn now() -> u64 {
    CHANGES.load(Relaxed)
}

impl Version {
    /// Returns whether the values have changed after this time.
    pub(crate) fn has_changed(&self, since: u64) -> bool {
        self.changed_at.load(Relaxed) > since
    }

    /// Returns the path of the variable in its model, if it is known.
    pub(crate) fn path(&self) -> Option<&str> {
        self.path.get().map(|path| &**path)
    }

    /// Notes that the values of the variable with this path have changed.
    pub fn change(&self, path: Option<&Arc<str>>) {
        if let Some(path) = path {
            self.path.get_or_init(|| path.clone());
        }
        self.changed_at
            .store(CHANGES.fetch_add(1, Relaxed) + 1, Relaxed);
    }
}
