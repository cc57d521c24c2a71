//! The marks of stale cells, for front ends that show them.
//!
//! A front end opens a comm with the target `taper.stale`. In the data of `comm_open`, and later of `comm_msg`, it
//! can name the cells of the notebook from the top to the bottom: `{"cells": ["id", …]}`. The ids are those that it
//! sends as `cellId` in the metadata of an `execute_request`. Without them, cells count in the order of their first run.
//!
//! The kernel answers each of these messages with the state of the evaluator, and sends it again after each cell:
//!
//! ```json
//! {"stale": [{
//!     "id": "8f2c…", "number": 5, "line": "plot(&losses)", "certain": true,
//!     "reasons": ["`losses` was changed by cell [7]"]
//! }]}
//! ```
//!
//! `id` is `null` for a cell without `cellId`, `number` the execution count of the cell's last run; `certain` is false
//! where types do not show whether a value has changed. `"stale": null` means that the engine does not know.
//!
//! A front end can also ask which cells must run so that a cell shows what it would in a run from the top, with the
//! sources of all cells: `{"needed": "id", "sources": [["id", "source"], …]}`. The answer goes to its comm alone, and
//! is `{"needed": ["id", …]}`, in the order in which they should run.
//!
//! `kept.rs` has the messages with which a page gets the outputs that it has missed.
//!
//! While a cell is evaluated, the kernel sends `{"compiling": "id"}`, then `{"running": "id"}`.

use jupyter_protocol::CommId;
use std::sync::Mutex;
use taper_host::mutex::lock;

/// The target name of the comms.
pub(super) const TARGET: &str = "taper.stale";

/// How many comms stay open: a page that is loaded again does not close its own.
const MOST: usize = 8;

/// The open comms, the newest last.
#[derive(Default)]
pub(super) struct Comms(Mutex<Vec<String>>);

impl Comms {
    /// Adds a comm, in place of the oldest one if there are too many.
    pub(super) fn open(&self, id: &CommId) {
        let mut open = lock(&self.0);
        if !open.contains(&id.0) {
            open.push(id.0.clone());
            let too_many = open.len().saturating_sub(MOST);
            open.drain(..too_many);
        }
    }

    /// Returns whether a comm is one of these.
    pub(super) fn contains(&self, id: &CommId) -> bool {
        lock(&self.0).contains(&id.0)
    }

    /// Removes a comm that a front end has closed.
    pub(super) fn close(&self, id: &CommId) {
        lock(&self.0).retain(|open| *open != id.0);
    }

    /// Returns the ids of the open comms.
    pub(super) fn ids(&self) -> Vec<CommId> {
        lock(&self.0).iter().cloned().map(CommId).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_comms_stay_open() {
        let comms = Comms::default();
        for number in 0..10 {
            comms.open(&CommId(number.to_string()));
            comms.open(&CommId("0".to_owned()));
        }
        assert_eq!(comms.ids().len(), MOST);
        assert!(comms.contains(&CommId("9".to_owned())));
        assert!(!comms.contains(&CommId("1".to_owned())));
        comms.close(&CommId("9".to_owned()));
        assert_eq!(comms.ids().len(), MOST - 1);
    }
}
