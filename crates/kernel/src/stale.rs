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

use jupyter_protocol::CommId;
use std::collections::BTreeSet;
use std::sync::Mutex;
use taper_host::mutex::lock;

/// The target name of the comms.
pub(super) const TARGET: &str = "taper.stale";

/// The open comms.
#[derive(Default)]
pub(super) struct Comms(Mutex<BTreeSet<String>>);

impl Comms {
    /// Adds a comm.
    pub(super) fn open(&self, id: &CommId) {
        lock(&self.0).insert(id.0.clone());
    }

    /// Returns whether a comm is one of these.
    pub(super) fn contains(&self, id: &CommId) -> bool {
        lock(&self.0).contains(&id.0)
    }

    /// Removes a comm that a front end has closed.
    pub(super) fn close(&self, id: &CommId) {
        lock(&self.0).remove(&id.0);
    }

    /// Returns the ids of the open comms.
    pub(super) fn ids(&self) -> Vec<CommId> {
        lock(&self.0).iter().cloned().map(CommId).collect()
    }
}
