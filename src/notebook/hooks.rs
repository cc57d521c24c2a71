//! What the kernel asks of the process in which cells run.
//!
//! Cells share one copy of the standard library, and this crate is loaded beside it. So this is the
//! one place that can flush a line that a cell left without a newline, hear of a panic before its
//! text is printed, and note an interrupt for long work to look at. The process that runs the cells
//! finds the three functions below by name once this library is loaded; a plain program never calls
//! them.

use super::record::send_record;
use super::{cell, interrupt, live};
use serde_json::json;
use std::io::Write;
use std::sync::Once;

/// Called by the kernel once, on the thread that runs the cells.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn taper_attach() {
    cell::mark_cell_thread();
    static ATTACH: Once = Once::new();
    ATTACH.call_once(|| {
        report_panics();
        #[cfg(unix)]
        interrupt::note_interrupts();
    });
}

/// Called by the kernel before each cell.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn taper_begin_cell() {
    interrupt::clear();
    cell::turn_page();
}

/// Called by the kernel after each cell, and many times a second while one runs, from a thread of
/// its own: what `print!` left without a newline is seen at once, and live displays move. At the end
/// of a cell they show their last state.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn taper_flush() {
    live::refresh_all(cell::is_cell_thread());
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
