//! Builds the error that a front end shows below a cell.

use taper_evaluator::event::{CellError, Location};

/// The name of the error when the process in which the cells run is gone.
pub(crate) const PROCESS_ENDED: &str = "ProcessEnded";

/// The name of the error when a cell did not stop and goes on.
pub(crate) const LEFT: &str = "CellLeft";

pub(super) const RED: &str = "\x1b[1;31m";
pub(super) const BLUE: &str = "\x1b[1;34m";
pub(super) const RESET: &str = "\x1b[0m";

/// Creates an error whose traceback is its name in red and its message.
pub(crate) fn error(name: &str, message: &str, location: Option<Location>) -> CellError {
    CellError {
        name: name.to_owned(),
        message: message.to_owned(),
        traceback: format!("{RED}{name}{RESET}: {message}")
            .lines()
            .map(str::to_owned)
            .collect(),
        location,
    }
}
