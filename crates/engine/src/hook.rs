//! What this program does as the process that runs the cells.

use crate::process::cells::{self, Calls};
use crate::profile::Allocations;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

/// What a program adds to the process that runs the cells.
pub trait Host {
    /// Prepares the process, before any library is loaded.
    ///
    /// # Errors
    ///
    /// When no cell can run.
    fn start(&self) -> io::Result<()> {
        Ok(())
    }

    /// Is called before each cell.
    fn begin_cell(&self) {}

    /// Is called after each cell.
    fn end_cell(&self) {}

    /// Returns whether the panic that begins on this thread is an error that a package explains. Is called once for
    /// each panic, on its thread.
    fn is_error(&self) -> bool {
        false
    }

    /// Returns where the program counts its allocations, if it does.
    fn allocations(&self) -> Option<&'static Allocations> {
        None
    }
}

/// A process to which nothing is added.
impl Host for () {}

/// Runs cells, if this process was started for that; returns `None` in any other process.
///
/// `main` calls it with all arguments, the program's name included, before it starts a thread.
pub fn hook(arguments: &[OsString], host: &'static (dyn Host + Sync)) -> Option<ExitCode> {
    let is_ours = arguments
        .get(1)
        .is_some_and(|argument| argument == cells::ARGUMENT);
    is_ours.then(|| cells::run(Calls::of(host)))
}

impl Calls {
    fn of(host: &'static (dyn Host + Sync)) -> Calls {
        Calls {
            start: Box::new(|| host.start()),
            begin_cell: Box::new(|| host.begin_cell()),
            end_cell: Box::new(|| host.end_cell()),
            is_error: Box::new(|| host.is_error()),
            allocations: Box::new(|| host.allocations()),
        }
    }
}
