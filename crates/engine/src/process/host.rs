//! What a program adds to the process that runs the cells.

use crate::profile::Allocations;
use std::io;
use std::path::Path;

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

    /// Is called after a library of packages was loaded, on the thread that runs the cells.
    fn loaded(&self, library: &Path) {
        let _ = library;
    }

    /// Is called before each cell, with the number of the evaluation and the compiled cell.
    fn begin_cell(&self, cell: u32, library: &Path) {
        let _ = (cell, library);
    }

    /// Is called after each cell.
    fn end_cell(&self) {}

    /// Is called in place of [`Host::end_cell`] if a cell cannot be stopped: by a new thread, which runs the next cells. The
    /// cell goes on, on its own thread.
    fn take_over(&self) {}

    /// Is called many times a second, after what was printed without a newline was passed on.
    fn tick(&self) {}

    /// Returns the number of the evaluation to whose cell the calling thread belongs, if that is known.
    fn cell_of_thread(&self) -> Option<u32> {
        None
    }

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
