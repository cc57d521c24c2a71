//! The signal that ends the kernel.

use std::sync::Arc;
use tokio::sync::watch;

/// Ends the tasks of the kernel. Clones are handles to the same signal.
#[derive(Clone, Default)]
pub(super) struct Stop(Arc<watch::Sender<bool>>);

impl Stop {
    /// Asks all tasks to end.
    pub(super) fn request(&self) {
        self.0.send_replace(true);
    }

    /// Waits until a task calls [`Stop::request`].
    pub(super) async fn requested(&self) {
        // It fails only without a sender, and `self` is one.
        let _ = self.0.subscribe().wait_for(|requested| *requested).await;
    }
}
