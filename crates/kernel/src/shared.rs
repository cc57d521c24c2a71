//! What the tasks and the evaluation thread know together.

use super::history::History;
use super::prompts::Prompts;
use super::signatures::Signatures;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use taper_evaluator::evaluator::Interrupt;
use tokio::sync::watch;

/// The state of the kernel that more than one task has to do with.
pub(super) struct Shared {
    pub(super) history: Mutex<History>,
    pub(super) prompts: Prompts,
    /// Of all channels: a message is not to be sent again on another one either.
    pub(super) signatures: Mutex<Signatures>,
    turns: Mutex<Turns>,
    interrupter: OnceLock<Arc<dyn Interrupt>>,
    stopping: watch::Sender<bool>,
}

/// Whose turn it is on the evaluation thread. Tickets are numbered from 1 in order of arrival.
#[derive(Default)]
struct Turns {
    received: u64,
    done: u64,
    /// Cells with a ticket up to this one are not run any more.
    aborted: u64,
    running: bool,
}

impl Shared {
    pub(super) fn new() -> Self {
        Self {
            history: Mutex::default(),
            prompts: Prompts::default(),
            signatures: Mutex::default(),
            turns: Mutex::default(),
            interrupter: OnceLock::new(),
            stopping: watch::Sender::new(false),
        }
    }

    /// The evaluator is there, and this is how to interrupt it.
    pub(super) fn set_started(&self, interrupter: Arc<dyn Interrupt>) {
        let _ = self.interrupter.set(interrupter);
    }

    pub(super) fn started(&self) -> bool {
        self.interrupter.get().is_some()
    }

    /// Counts a request for the evaluation thread and gives it its ticket.
    pub(super) fn take_ticket(&self) -> u64 {
        let mut turns = lock(&self.turns);
        turns.received += 1;
        turns.received
    }

    /// A request of the evaluation thread has ended.
    pub(super) fn done(&self) {
        lock(&self.turns).done += 1;
    }

    /// Whether the evaluator is there and has nothing to do.
    pub(super) fn idle(&self) -> bool {
        let turns = lock(&self.turns);
        self.started() && turns.done == turns.received
    }

    /// Whether the cell with this ticket may run; if so it counts as running until
    /// [`Shared::end_cell`].
    pub(super) fn begin_cell(&self, ticket: u64) -> bool {
        let mut turns = lock(&self.turns);
        turns.running = ticket > turns.aborted;
        turns.running
    }

    /// The cell has ended; with `abort`, those that wait already shall not run.
    pub(super) fn end_cell(&self, abort: bool) {
        let mut turns = lock(&self.turns);
        turns.running = false;
        if abort {
            turns.aborted = turns.aborted.max(turns.received);
        }
    }

    /// Stops the running cell; where none runs, those that wait shall not run.
    pub(super) fn interrupt(&self) {
        let running = {
            let mut turns = lock(&self.turns);
            if !turns.running {
                turns.aborted = turns.aborted.max(turns.received);
            }
            turns.running
        };
        if running && let Some(interrupter) = self.interrupter.get() {
            // First the cell, then its question: else it would go on for a moment, unanswered.
            interrupter.interrupt();
            self.prompts.cancel();
        }
    }

    /// Asks everybody to come to an end.
    pub(super) fn stop(&self) {
        lock(&self.turns).aborted = u64::MAX;
        self.prompts.close();
        self.stopping.send_replace(true);
    }

    /// Waits until somebody calls [`Shared::stop`].
    pub(super) async fn stopped(&self) {
        // It fails when the sender is gone, which is ours.
        let _ = self
            .stopping
            .subscribe()
            .wait_for(|stopping| *stopping)
            .await;
    }
}

/// Locks; data that a panic left is as good as any here, each change being one assignment.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
