//! Which panic has ended a cell: one of its own, or that of a thread, raised again.

use crate::error::Fault;
use std::collections::VecDeque;

/// How many panics of a cell are remembered.
const MOST: usize = 100;

/// The panics of a cell.
#[derive(Default)]
pub(crate) struct Panics {
    /// The last one of its own thread, which may or may not end it.
    last: Option<Fault>,
    /// All that have a place, the oldest first.
    seen: VecDeque<Fault>,
}

impl Panics {
    /// Notes a panic of the cell's own thread. Returns the one before, which the cell has caught.
    pub(crate) fn begun(&mut self, panic: Fault) -> Option<Fault> {
        self.remember(panic.clone());
        self.last.replace(panic)
    }

    /// Notes a panic of another thread.
    pub(crate) fn in_thread(&mut self, panic: Fault) {
        self.remember(panic);
    }

    /// Returns the panic that has ended the cell, and the one before if that was caught. `end` is what is known at the end:
    /// the message. `resume_unwind` raises a panic again, or a new one, without any report.
    pub(crate) fn ended(&mut self, end: Fault) -> (Fault, Option<Fault>) {
        match self.last.take() {
            Some(last) if last.message == end.message => (last, None),
            caught => {
                let mut seen = self.seen.iter().rev();
                let same = seen.find(|it| it.message == end.message);
                (same.cloned().unwrap_or(end), caught)
            }
        }
    }

    /// Returns a panic that has not ended the cell.
    pub(crate) fn finish(self) -> Option<Fault> {
        self.last
    }

    fn remember(&mut self, panic: Fault) {
        if self.seen.len() >= MOST {
            self.seen.pop_front();
        }
        self.seen.push_back(panic);
    }
}
