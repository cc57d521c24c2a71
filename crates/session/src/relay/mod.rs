//! Between the process that runs the cells and evcxr.
//!
//! evcxr starts one child and reads its standard output line by line. We give it a *relay*: a
//! process that starts the *cells process*, reads everything that comes out of it and passes it on
//! as records, one a line. So nothing that a cell prints (no newline, broken UTF-8, megabytes) can
//! upset evcxr, and what a cell printed before it crashed still arrives.
//!
//! ```text
//! Session ── evcxr ──stdin──────────────────────────▶ cells process (loads and calls each cell)
//!                  ◀─lines── relay ◀─stdout, stderr──┘
//! ```
//!
//! - [`cells`]: the loop of the cells process;
//! - [`order`]: keeps standard output and standard error in order;
//! - [`translator`]: bytes to records for the session and lines for evcxr;
//! - [`process`]: the relay itself.

pub mod cells;
mod order;
pub mod process;
mod translator;

/// The first argument with which our own binary becomes the relay.
pub const RELAY_ARGUMENT: &str = "__relay";
/// The first argument with which our own binary becomes the cells process.
pub const CELLS_ARGUMENT: &str = "__cells";

/// The secret that begins every record a cell sends (also tells `taper` that our kernel runs it).
pub const SECRET_VARIABLE: &str = "TAPER_DISPLAY";
/// The library `taper`, for the cells process to load before the first cell.
pub const LIBRARY_VARIABLE: &str = "TAPER_LIBRARY";
/// A file that exists once evcxr is ready for records; until then everything passes unchanged.
pub const READY_VARIABLE: &str = "TAPER_READY_FILE";
/// `RUST_BACKTRACE` as the person set it; evcxr sets its own for its child.
pub const BACKTRACE_VARIABLE: &str = "TAPER_RUST_BACKTRACE";
