//! What a session adds to the process in which the engine runs cells: `taper`, input, the order of the output, and the
//! limit of its memory.
//!
//! - [`library`]: the library `taper` in it;
//! - [`mod@limit`]: the memory that it can use;
//! - [`mod@allocations`]: counts what a cell allocates;
//! - [`announcer`]: writes records to the session; [`identity`]: which file a descriptor is;
//! - [`input`]: its standard input, from which a cell reads what the user types;
//! - [`order`]: keeps standard output and standard error in order;
//! - [`threads`]: the cells to which threads belong;
//! - [`stop`]: ends cells that print or sleep and were interrupted; `waits`: those that wait;
//! - `real`: libc's functions that have replacements here; `callers`: who calls these;
//! - [`protocol`]: the variables with which it is started;
//! - `evcxr`: the same for the process in which evcxr runs cells, with the feature `evcxr`; it joins in through `adapter`.

#[cfg(feature = "evcxr")]
mod adapter;
mod allocations;
mod announcer;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod callers;
#[cfg(feature = "evcxr")]
pub(crate) mod evcxr;
mod identity;
mod input;
mod library;
mod limit;
mod order;
mod protocol;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod real;
mod stop;
mod threads;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod waits;

use crate::environment;
use crate::error::{Error, Result};
use announcer::Announcer;
pub(crate) use limit::{VARIABLE as MEMORY, limit};
pub(crate) use protocol::{ANSWERS_VARIABLE, Answer};
use protocol::{LIBRARY_VARIABLE, SECRET_VARIABLE};
use rustix::stdio;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use taper_host::error::Context as _;
use taper_host::process::duplicate;

/// The variable for the backtraces of errors alone; `RUST_BACKTRACE` is also for those of panics.
/// Candle's errors print theirs, twenty lines after the one that the user needs, and some machines set
/// `RUST_BACKTRACE=1` for every user.
const ERRORS_BACKTRACE: (&str, &str) = ("RUST_LIB_BACKTRACE", "0");

/// How many times Candle's threads poll for work before they sleep: for about 50 µs instead of
/// 1.5 ms. Within a training step that makes no difference. Where two kernels share the cores, the
/// spinning threads of one would take time from the other, and both would run five times slower.
const SPIN_LIMIT: (&str, &str) = ("CANDLE_BARRIER_POOL_SPIN_LIMIT", "1000");

/// Stops the allocator from reserving a gigabyte in advance, which would count against a memory limit.
const NOT_IN_ADVANCE: (&str, &str) = ("MIMALLOC_ARENA_EAGER_COMMIT", "0");

/// Sets the environment of a process that runs cells. `secret` begins their records, `library` is the path of `taper`.
pub(crate) fn connect(command: &mut Command, secret: &str, library: &Path) {
    prepare(command);
    command.env(SECRET_VARIABLE, secret);
    command.env(LIBRARY_VARIABLE, library);
}

pub(crate) fn prepare(command: &mut Command) {
    environment::for_user(command);
    let is_limited = std::env::var_os(MEMORY).is_some();
    let in_advance = is_limited.then_some(NOT_IN_ADVANCE);
    let defaults = [ERRORS_BACKTRACE, SPIN_LIMIT].into_iter();
    for (name, value) in defaults.chain(in_advance) {
        if std::env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
}

/// The session's part of the engine's process.
pub(crate) struct OurCells;

impl taper_engine::Host for OurCells {
    fn start(&self) -> io::Result<()> {
        start().map_err(|error| io::Error::other(taper_host::error::describe(&error)))
    }

    fn begin_cell(&self, cell: u32, library: &Path) {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        callers::set_folder_of(library);
        #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
        let _ = library;
        threads::begin_cell(cell);
        input::set_cell_runs(true);
        stop::set_cell_runs(true);
        library::begin_cell();
    }

    fn end_cell(&self) {
        stop::set_cell_runs(false);
        library::end_cell();
        input::set_cell_runs(false);
        threads::end_cell();
    }

    fn take_over(&self) {
        threads::end_cell();
        stop::take_over();
        allocations::stop();
        input::set_cell_runs(false);
        library::take_over();
    }

    fn tick(&self) {
        library::flush();
    }

    fn cell_of_thread(&self) -> Option<u32> {
        threads::cell_of_this()
    }

    fn is_error(&self) -> bool {
        library::panic_is_error()
    }

    fn allocations(&self) -> Option<&'static taper_engine::Allocations> {
        allocations::allocations()
    }
}

fn start() -> Result<()> {
    limit::apply()?;
    let output = duplicate(stdio::stdout()).trying("duplicate a stream")?;
    order::keep_order(output.as_raw_fd());
    let secret = std::env::var(SECRET_VARIABLE).map_err(|_| Error::Variable(SECRET_VARIABLE))?;
    let announcer = Arc::new(Announcer::new(output, secret)?);
    let answers = std::env::var(ANSWERS_VARIABLE).ok();
    let answers: i32 = answers
        .and_then(|answers| answers.parse().ok())
        .ok_or(Error::Variable(ANSWERS_VARIABLE))?;
    // SAFETY: the session has passed this descriptor on, and nothing has closed it yet.
    let answers = unsafe { BorrowedFd::borrow_raw(answers) };
    let answers = duplicate(answers).trying("duplicate a stream")?;
    input::attach(answers, announcer)?;
    library::load();
    stop::install();
    Ok(())
}
