//! Arguments and environment variables that a session passes to the relay and the cells process.

/// The first argument with which this program becomes the relay.
pub(crate) const RELAY_ARGUMENT: &str = "__relay";
/// The first argument with which this program becomes the cells process.
pub(crate) const CELLS_ARGUMENT: &str = "__cells";

/// The secret at the start of each record that a cell sends. If it is set, `taper` runs in a session.
pub(crate) const SECRET_VARIABLE: &str = "TAPER_DISPLAY";
/// The path of the library `taper`, which the cells process loads before the first cell.
pub(crate) const LIBRARY_VARIABLE: &str = "TAPER_LIBRARY";
/// The path of a file that exists once evcxr is ready for records. Until then, text passes unchanged.
pub(crate) const READY_VARIABLE: &str = "TAPER_READY_FILE";
/// The user's value of `RUST_BACKTRACE`; evcxr sets another for its child.
pub(crate) const BACKTRACE_VARIABLE: &str = "TAPER_RUST_BACKTRACE";
