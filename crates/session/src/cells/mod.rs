//! What a session adds to the process in which the engine runs cells: `taper`, input, the order of the output, and the
//! limit of its memory.
//!
//! - [`library`]: the library `taper` in it;
//! - [`mod@limit`]: the memory that it can use;
//! - [`mod@allocations`]: counts what a cell allocates;
//! - [`identity`]: which file a descriptor is;
//! - [`input`]: its standard input, from which a cell reads what the user types;
//! - [`order`]: keeps standard output and standard error in order;
//! - [`threads`]: the cells to which threads belong;
//! - [`stop`]: ends cells that print or sleep and were interrupted; `waits`: those that wait;
//! - `real`: libc's functions that have replacements here; `callers`: who calls these.

mod allocations;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod callers;
mod identity;
mod input;
mod library;
mod limit;
mod order;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod real;
mod stop;
mod threads;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod waits;

use crate::environment;
use anyhow::Result;
#[cfg(feature = "evcxr")]
pub(crate) use limit::apply as limit_memory;
pub(crate) use limit::{VARIABLE as MEMORY, limit};
use std::io;
use std::path::Path;
use std::process::Command;

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

/// Sets the environment of a process that runs cells.
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
        start().map_err(|error| io::Error::other(format!("{error:#}")))
    }

    fn loaded(&self, library: &Path) {
        library::find(library);
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
    order::keep_order();
    input::attach()?;
    stop::install();
    Ok(())
}
