//! Functions that the kernel calls in the cells process.
//!
//! All cells share one copy of the standard library with this crate. So only this crate can flush a line
//! without a newline, hook into a panic before its message is printed, and set the flag of an interrupt
//! for long computations to check. Once this library is loaded, the cells process finds the
//! functions below by name; a plain program never calls them.

use super::record::{self, Host, Receive, is_recorded, send_record};
use super::{cell, interrupt, live};
use crate::error;
use serde_json::json;
use std::io::Write;
use std::sync::Once;

/// Prepares the process for cells. The kernel calls it on the thread that runs the cells: again when that becomes another
/// one, because a cell was left to its thread.
// SAFETY: the prefix `taper_` keeps the symbol's name unique, here and below.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn taper_attach() {
    cell::mark_cell_thread();
    static ATTACH: Once = Once::new();
    ATTACH.call_once(|| {
        // Read now: a cell may remove the variables that name the host.
        Host::current();
        report_panics();
        #[cfg(unix)]
        interrupt::install_handler();
    });
}

/// Begins a cell. The kernel calls it before each cell.
// SAFETY: as for `taper_attach`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn taper_begin_cell() {
    interrupt::clear();
    cell::begin_output_area();
}

/// Ends a cell: shows what is shown last, and flushes. The kernel calls it after each cell.
// SAFETY: as for `taper_attach`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn taper_end_cell() {
    cell::end();
    taper_flush();
}

/// Sends displays and other events to the kernel from now on. The kernel calls it before [`taper_attach`].
// SAFETY: as for `taper_attach`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn taper_send_to(receive: Receive) {
    record::set_kernel(receive);
}

/// Sets how to know whether the cell is run with `%%profile`.
// SAFETY: as for `taper_attach`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn taper_profile(is_profiled: extern "C" fn() -> bool) {
    cell::set_profiled(is_profiled);
}

/// Flushes standard output and redraws live displays. The kernel calls it before it asks for input, and many
/// times a second from another thread while a cell runs. At the end of a cell, live displays show their
/// last state.
// SAFETY: as for `taper_attach`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn taper_flush() {
    live::refresh_all(cell::is_cell_thread());
    let _ = std::io::stdout().flush();
}

/// Returns whether the panic that begins on this thread is an error of this crate. A kernel whose own panic
/// hook replaces the one of [`taper_attach`] calls it once within that hook.
// SAFETY: as for `taper_attach`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn taper_panic_is_error() -> bool {
    error::is_error()
}

/// Installs a panic hook that writes each panic into the log of an exported program. The kernel has a hook of its own.
fn report_panics() {
    let cell_thread = std::thread::current().id();
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let is_error = error::is_error();
        if !is_recorded() {
            return previous(info);
        }
        let thread = std::thread::current();
        let is_cells = thread.id() == cell_thread;
        let location = info.location();
        send_record(&json!({
            "event": if is_cells { "panic" } else { "thread_panic" },
            "thread": thread.name(),
            "is_error": is_error,
            "message": info.payload_as_str().unwrap_or("the panic has no message"),
            "file": location.map(|l| l.file()),
            "line": location.map(|l| l.line()),
        }));
    }));
}
