//! Interrupts: noted when they come, looked at by long work.

use crate::error::{self, Result};
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether the reader has asked to stop since the cell began (the stop button, or Ctrl-C).
///
/// Long work looks at this between two steps and returns early, so that every variable lives.
///
/// ```
/// let mut steps = 0;
/// while steps < 3 && !taper::interrupted() {
///     steps += 1;
/// }
/// assert_eq!(steps, 3);
/// ```
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Ends a function or a cell when the reader has asked to stop.
///
/// In a loop, `check_interrupt()?` is where it may be stopped without losing anything: the kernel
/// shows that the cell was interrupted, and every variable of earlier cells lives.
///
/// # Errors
/// If [`interrupted`] says so. In a plain program Ctrl-C ends the process, so there it never fails.
///
/// ```
/// use taper::prelude::*;
///
/// let mut steps = 0;
/// while steps < 3 {
///     check_interrupt()?;
///     steps += 1;
/// }
/// # Ok::<(), Error>(())
/// ```
pub fn check_interrupt() -> Result<()> {
    if interrupted() {
        return Err(error::interrupted());
    }
    Ok(())
}

/// Forgets an interrupt that came before the cell began.
pub(super) fn clear() {
    INTERRUPTED.store(false, Ordering::Relaxed);
}

#[cfg(unix)]
pub(super) fn note_interrupts() {
    extern "C" fn on_interrupt(_signal: libc::c_int) {
        INTERRUPTED.store(true, Ordering::Relaxed);
    }
    let handler = on_interrupt as extern "C" fn(libc::c_int);
    // SAFETY: all that the handler does is store to an atomic.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
}

#[cfg(all(test, unix))]
mod tests;
