//! What a program adds to the process that runs the cells.

use crate::profile::Allocations;
use std::io;

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
