//! The state that the tasks and the evaluation thread share.

use super::history::History;
use super::prompts::Prompts;
use super::stale::Comms;
use super::stop::Stop;
use super::usage::Usage;
use super::widgets::Widgets;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use taper_evaluator::evaluator::{Interrupt, Variable};
use taper_host::mutex::lock;

/// The state of the kernel.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) history: Mutex<History>,
    pub(super) prompts: Prompts,
    pub(super) widgets: Widgets,
    /// The front ends that show which cells are stale.
    pub(super) stale: Comms,
    /// The variables after the last cell.
    pub(super) variables: Mutex<Vec<Variable>>,
    /// Whether a front end shows the variables.
    pub(super) inspected: AtomicBool,
    pub(super) usage: Mutex<Usage>,
    queue: Mutex<Queue>,
    interrupter: OnceLock<Arc<dyn Interrupt>>,
    stop: Stop,
}

/// The queue of the evaluation thread. Requests get tickets, numbered from 1 in order of arrival.
#[derive(Default)]
struct Queue {
    received: u64,
    done: u64,
    /// Cells with a ticket up to this one are not run.
    aborted: u64,
    running: bool,
}

impl Queue {
    fn is_idle(&self) -> bool {
        self.received == self.done
    }
}

impl Shared {
    /// Creates the state of a kernel that `stop` ends.
    pub(super) fn new(stop: Stop) -> Self {
        Self {
            stop,
            ..Self::default()
        }
    }

    /// Stores how to interrupt the evaluator, which from now on counts as started.
    pub(super) fn set_started(&self, interrupter: Arc<dyn Interrupt>) {
        let _ = self.interrupter.set(interrupter);
    }

    pub(super) fn started(&self) -> bool {
        self.interrupter.get().is_some()
    }

    /// Counts a request for the evaluation thread and returns its ticket.
    pub(super) fn take_ticket(&self) -> u64 {
        let mut queue = lock(&self.queue);
        queue.received += 1;
        queue.received
    }

    /// Counts a request that the evaluation thread has finished.
    pub(super) fn done(&self) {
        lock(&self.queue).done += 1;
    }

    /// Returns whether a request has come after the one with this ticket.
    pub(super) fn has_waiting(&self, ticket: u64) -> bool {
        lock(&self.queue).received > ticket
    }

    /// Returns a variable with its type and its value, if that was read after the last cell.
    pub(super) fn value(&self, name: &str) -> Option<String> {
        let variables = lock(&self.variables);
        let found = variables.iter().find(|it| it.name == name)?;
        let Variable { kind, value, .. } = found;
        (!value.is_empty()).then(|| format!("{name}: {kind} {value}"))
    }

    /// Returns whether the value of a variable can be read now, and was not read after the last cell.
    pub(super) fn lacks_value(&self, name: &str) -> bool {
        let is_idle = { lock(&self.queue) }.is_idle();
        let is_unread = |it: &Variable| it.name == name && it.value.is_empty();
        is_idle && lock(&self.variables).iter().any(is_unread)
    }

    /// Returns whether the cell with this ticket may run; if so, it counts as running until
    /// [`Shared::end_cell`].
    pub(super) fn begin_cell(&self, ticket: u64) -> bool {
        let mut queue = lock(&self.queue);
        queue.running = ticket > queue.aborted;
        queue.running
    }

    /// Ends the running cell; with `abort`, the cells that are waiting will not run.
    pub(super) fn end_cell(&self, abort: bool) {
        let mut queue = lock(&self.queue);
        queue.running = false;
        if abort {
            queue.aborted = queue.aborted.max(queue.received);
        }
    }

    /// Interrupts the running cell. If no cell is running, the cells that are waiting will not run.
    pub(super) fn interrupt(&self) {
        let running = {
            let mut queue = lock(&self.queue);
            if !queue.running {
                queue.aborted = queue.aborted.max(queue.received);
            }
            queue.running
        };
        if running && let Some(interrupter) = self.interrupter.get() {
            // The cell before its question: otherwise the cell would continue for a moment without an answer.
            interrupter.interrupt();
            self.prompts.cancel();
        }
    }

    /// Ends the kernel: no waiting cell runs, no question is answered, all tasks end.
    pub(super) fn stop(&self) {
        lock(&self.queue).aborted = u64::MAX;
        self.prompts.close();
        self.stop.request();
    }
}
