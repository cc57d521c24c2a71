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

pub(crate) mod cells;
mod order;
pub(crate) mod process;
mod protocol;
mod translator;

pub(crate) use protocol::{
    BACKTRACE_VARIABLE, CELLS_ARGUMENT, LIBRARY_VARIABLE, READY_VARIABLE, RELAY_ARGUMENT,
    SECRET_VARIABLE,
};
