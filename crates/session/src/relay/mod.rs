//! The processes between evcxr and the cells.
//!
//! evcxr starts one child and reads its standard output line by line. That child is the *relay*: it
//! starts the *cells process*, reads everything that this process writes and passes it on as records,
//! one per line. So evcxr copes with anything that a cell prints (text without a newline, invalid UTF-8,
//! megabytes), and what a cell printed before it crashed still arrives.
//!
//! ```text
//! Session ── evcxr ──stdin──────────────────────────▶ cells process (loads and calls each cell)
//!                  ◀─lines── relay ◀─stdout, stderr──┘
//! ```
//!
//! - [`cells`]: the loop of the cells process;
//! - [`library`]: the library `taper` in it;
//! - [`limit`]: the memory that it can use;
//! - [`announcer`]: writes records to the session;
//! - [`pipes`]: its connection to the session, which a cell cannot close by accident;
//! - [`input`]: its standard input, from which a cell reads what the user types;
//! - [`order`]: keeps standard output and standard error in order;
//! - [`stop`]: ends cells that print or sleep and were interrupted;
//! - [`translator`]: turns bytes into records for the session and lines for evcxr;
//! - [`process`]: the relay itself;
//! - [`own`]: what a session adds to the cells process of our own engine, which needs no relay;
//! - [`protocol`]: the arguments and variables with which both processes are started.

mod announcer;
pub(crate) mod cells;
mod input;
mod library;
mod limit;
mod order;
mod own;
mod pipes;
pub(crate) mod process;
mod protocol;
mod stop;
mod translator;

pub(crate) use limit::VARIABLE as MEMORY;
pub(crate) use own::OwnCells;
pub(crate) use process::prepare_cells;
pub(crate) use protocol::{
    ANSWERS_VARIABLE, Answer, BACKTRACE_VARIABLE, CELLS_ARGUMENT, LIBRARY_VARIABLE, READY_VARIABLE,
    RELAY_ARGUMENT, SECRET_VARIABLE, prompt_of, requested,
};
pub(crate) use translator::Translator;
