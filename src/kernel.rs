//! What the kernel asks of the process in which cells run.
//!
//! Cells share one copy of the standard library, and this crate is loaded beside it. So this is the
//! one place that can flush a line that a cell left without a newline, hear of a panic before its
//! text is printed, and note an interrupt for long work to look at. The process that runs the cells
//! finds the three functions below by name once this library is loaded; a plain program never calls
//! them.

use crate::display::send_record;
use serde_json::json;
use std::io::Write;
use std::sync::Once;
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

/// Called by the kernel once, on the thread that runs the cells.
#[unsafe(no_mangle)]
extern "C" fn taper_attach() {
    static ATTACH: Once = Once::new();
    ATTACH.call_once(|| {
        report_panics();
        #[cfg(unix)]
        note_interrupts();
    });
}

/// Called by the kernel before each cell.
#[unsafe(no_mangle)]
extern "C" fn taper_begin_cell() {
    INTERRUPTED.store(false, Ordering::Relaxed);
}

/// Called by the kernel after each cell, and many times a second while one runs: what `print!`
/// left without a newline is seen at once.
#[unsafe(no_mangle)]
extern "C" fn taper_flush() {
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
