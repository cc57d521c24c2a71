//! What the kernel asks of the process in which cells run.
//!
//! Cells share one copy of the standard library, and this crate is loaded beside it. So this is the
//! one place that can flush a line that a cell left without a newline, hear of a panic before its
//! text is printed, and note an interrupt for long work to look at. The process that runs the cells
//! finds the three functions below by name once this library is loaded; a plain program never calls
//! them.

use crate::Result;
use crate::display::live;
use crate::display::send_record;
use crate::error::explain;
use serde_json::json;
use std::cell::Cell;
use std::io::Write;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// See [`page`].
static PAGE: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_CELL_THREAD: Cell<bool> = const { Cell::new(false) };
}

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
        return Err(explain(
            "interrupted: the reader asked to stop",
            "Run the cell again to begin anew; what earlier cells made is still there",
        ));
    }
    Ok(())
}

/// A number for the outputs of the current cell: another cell, or a cleared one, has another. What
/// was shown on an earlier page cannot be relied on to be still there.
pub(crate) fn page() -> u64 {
    PAGE.load(Ordering::Relaxed)
}

/// From now on outputs stand on another [`page`].
pub(crate) fn turn_page() {
    PAGE.fetch_add(1, Ordering::Relaxed);
}

/// Whether this thread is the one that runs the cells, and not one that a cell started.
pub(crate) fn is_cell_thread() -> bool {
    IS_CELL_THREAD.get()
}

/// Called by the kernel once, on the thread that runs the cells.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn taper_attach() {
    IS_CELL_THREAD.set(true);
    static ATTACH: Once = Once::new();
    ATTACH.call_once(|| {
        report_panics();
        #[cfg(unix)]
        note_interrupts();
    });
}

/// Called by the kernel before each cell.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn taper_begin_cell() {
    INTERRUPTED.store(false, Ordering::Relaxed);
    turn_page();
}

/// Called by the kernel after each cell, and many times a second while one runs, from a thread of
/// its own: what `print!` left without a newline is seen at once, and live displays move. At the end
/// of a cell they show their last state.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn taper_flush() {
    live::refresh_all(is_cell_thread());
    let _ = std::io::stdout().flush();
}

/// Sends a panic of the cell's own thread as a record; the kernel makes it the cell's error. Panics
/// of other threads do not end a cell, so they stay what they are: text on standard error.
fn report_panics() {
    let cell_thread = std::thread::current().id();
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() != cell_thread {
            return previous(info);
        }
        let location = info.location();
        send_record(&json!({
            "op": "panic",
            "message": info.payload_as_str().unwrap_or("a value that is not text"),
            "file": location.map(|l| l.file()),
            "line": location.map(|l| l.line()),
        }));
    }));
}

#[cfg(unix)]
fn note_interrupts() {
    extern "C" fn on_interrupt(_signal: libc::c_int) {
        INTERRUPTED.store(true, Ordering::Relaxed);
    }
    let handler = on_interrupt as extern "C" fn(libc::c_int);
    // SAFETY: all that the handler does is store to an atomic.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::display::testing::records;

    #[test]
    fn an_interrupt_ends_what_looks_at_it_and_not_the_next_cell() {
        let told = records(
            "kernel::tests::an_interrupt_ends_what_looks_at_it_and_not_the_next_cell",
            || {
                assert!(check_interrupt().is_ok());
                // SAFETY: plain system call; the signal has a handler.
                unsafe { libc::raise(libc::SIGINT) };
                let error = check_interrupt().unwrap_err().to_string();
                assert!(error.starts_with("interrupted: "), "{error}");
                assert_eq!(error.lines().count(), 2);
                taper_begin_cell();
                assert!(check_interrupt().is_ok());
            },
        );
        assert!(told.is_empty());
    }
}
