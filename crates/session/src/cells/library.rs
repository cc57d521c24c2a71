//! The library `taper` in the process that runs cells.

use super::{allocations, stop, threads};
use libloading::Library;
use std::path::Path;
use std::sync::OnceLock;

/// The functions that the library `taper` exports for this process (`crates/display/src/notebook/hooks.rs`).
struct TaperLibrary {
    attach: extern "C" fn(),
    begin_cell: extern "C" fn(),
    end_cell: extern "C" fn(),
    flush: extern "C" fn(),
    panic_is_error: extern "C" fn() -> bool,
}

static TAPER: OnceLock<TaperLibrary> = OnceLock::new();

/// Finds the functions in a library that was loaded, if it is `taper`. Is called on the thread that runs the cells.
pub(super) fn find(path: &Path) {
    if TAPER.get().is_some() {
        return;
    }
    // SAFETY: the library is loaded.
    let Ok(library) = (unsafe { Library::new(path) }) else {
        return;
    };
    // Never unloaded.
    let library = std::mem::ManuallyDrop::new(library);
    // SAFETY: the crate `taper` defines these symbols as safe functions of these types.
    let found = unsafe {
        let symbol = |name: &[u8]| library.get::<extern "C" fn()>(name).ok();
        (|| {
            let profile: extern "C" fn(extern "C" fn() -> bool) =
                *library.get(b"taper_profile").ok()?;
            profile(is_profiled);
            let send_to: extern "C" fn(extern "C" fn(*const u8, usize)) =
                *library.get(b"taper_send_to").ok()?;
            send_to(receive);
            Some(TaperLibrary {
                attach: *symbol(b"taper_attach")?,
                begin_cell: *symbol(b"taper_begin_cell")?,
                end_cell: *symbol(b"taper_end_cell")?,
                flush: *symbol(b"taper_flush")?,
                panic_is_error: *library.get(b"taper_panic_is_error").ok()?,
            })
        })()
    };
    if let Some(taper) = found {
        stop::with_handler(|| (taper.attach)());
        let _ = TAPER.set(taper);
    }
}

/// Makes the calling thread the one that runs the cells.
pub(super) fn take_over() {
    if let Some(taper) = TAPER.get() {
        (taper.attach)();
        (taper.end_cell)();
    }
}

/// Returns whether the panic that begins on this thread is an error of `taper`.
pub(super) fn panic_is_error() -> bool {
    TAPER.get().is_some_and(|taper| (taper.panic_is_error)())
}

/// Begins a cell.
pub(super) fn begin_cell() {
    if let Some(taper) = TAPER.get() {
        (taper.begin_cell)();
    }
}

/// Ends a cell.
pub(super) fn end_cell() {
    if let Some(taper) = TAPER.get() {
        (taper.end_cell)();
    }
}

/// Passes on what the library reports, such as a figure.
extern "C" fn receive(text: *const u8, length: usize) {
    // A cell that was left to its thread shows nothing any more.
    if !stop::is_left() || !stop::fails() {
        // SAFETY: the library passes a text that lives during the call.
        let text = unsafe { std::slice::from_raw_parts(text, length) };
        taper_engine::send_of_package(threads::earlier_cell_of_this(), text);
    }
}

extern "C" fn is_profiled() -> bool {
    allocations::allocations().is_some_and(|it| it.is_counting())
}

/// Flushes what the cell has printed without a newline.
pub(super) fn flush() {
    if let Some(taper) = TAPER.get() {
        (taper.flush)();
    }
}
