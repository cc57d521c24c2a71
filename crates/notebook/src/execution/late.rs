//! What threads of cells print and show after their cell has ended.

use std::sync::Mutex;
use taper_evaluator::evaluator::{CellName, Late};
use taper_evaluator::event::Event;
use taper_host::mutex::lock;

/// The events, with the execution counts of the cells, until they are stored.
#[derive(Debug, Default)]
pub(super) struct LateEvents(Mutex<Vec<(usize, Event)>>);

impl LateEvents {
    pub(super) fn take(&self) -> Vec<(usize, Event)> {
        std::mem::take(&mut *lock(&self.0))
    }
}

impl Late for LateEvents {
    fn event(&self, cell: &CellName, event: Event) {
        lock(&self.0).push((cell.number, event));
    }
}
