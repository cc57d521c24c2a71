//! Arguments and environment variables that a session passes to the relay and the cells process.

/// The first argument with which our own binary becomes the relay.
pub(crate) const RELAY_ARGUMENT: &str = "__relay";
/// The first argument with which our own binary becomes the cells process.
pub(crate) const CELLS_ARGUMENT: &str = "__cells";

/// The secret that begins every record a cell sends (also tells `taper` that our kernel runs it).
pub(crate) const SECRET_VARIABLE: &str = "TAPER_DISPLAY";
/// The library `taper`, for the cells process to load before the first cell.
pub(crate) const LIBRARY_VARIABLE: &str = "TAPER_LIBRARY";
/// A file that exists once evcxr is ready for records; until then everything passes unchanged.
pub(crate) const READY_VARIABLE: &str = "TAPER_READY_FILE";
/// `RUST_BACKTRACE` as the person set it; evcxr sets its own for its child.
pub(crate) const BACKTRACE_VARIABLE: &str = "TAPER_RUST_BACKTRACE";
