//! Interrupts: a signal sets a flag, which long computations check.

use super::cell;
use crate::error::{self, Result};
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Returns whether the user has interrupted the cell (with the stop button, or Ctrl-C).
///
/// A long computation checks this between two steps and returns early, so that all variables are kept.
///
/// ```
/// let mut steps = 0;
/// while steps < 3 && !taper::interrupted() {
///     steps += 1;
/// }
/// assert_eq!(steps, 3);
/// ```
pub fn interrupted() -> bool {
    // The next cell resets the flag.
    INTERRUPTED.load(Ordering::Relaxed) || cell::is_left()
}

/// Returns an error if the user has interrupted the cell.
///
/// In a loop, `check_interrupt()?` makes it possible to stop without losing anything: the kernel shows
/// that the cell was interrupted, and all variables of earlier cells are kept.
///
/// # Errors
/// Returns an error if [`interrupted`] is true. In a plain program, Ctrl-C ends the process instead.
///
/// ```
/// use taper::prelude::*;
///
/// let mut steps = 0;
/// while steps < 3 {
///     check_interrupt()?;
///     steps += 1;
/// }
/// assert_eq!(steps, 3);
/// # Ok::<(), Error>(())
/// ```
pub fn check_interrupt() -> Result<()> {
    if interrupted() {
        return Err(error::interrupted());
    }
    Ok(())
}

/// Resets the flag before a cell begins.
pub(super) fn clear() {
    INTERRUPTED.store(false, Ordering::Relaxed);
}

/// Installs the signal handler, which sets the flag.
#[cfg(unix)]
pub(super) fn install_handler() {
    extern "C" fn on_interrupt(_signal: libc::c_int) {
        INTERRUPTED.store(true, Ordering::Relaxed);
    }
    let handler = on_interrupt as extern "C" fn(libc::c_int);
    // SAFETY: the handler has the signature of a signal handler, and storing to an atomic is
    // async-signal-safe.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
}

#[cfg(all(test, unix))]
mod tests;
