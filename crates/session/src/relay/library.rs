//! The library `taper` in the cells process.

use super::protocol::LIBRARY_VARIABLE;
use libloading::Library;
use std::sync::OnceLock;
use std::time::Duration;

/// The functions that the library `taper` exports for the cells process (`src/notebook/hooks.rs`).
pub(super) struct TaperLibrary {
    begin_cell: extern "C" fn(),
    flush: extern "C" fn(),
    panic_is_error: extern "C" fn() -> bool,
}

static TAPER: OnceLock<TaperLibrary> = OnceLock::new();

impl TaperLibrary {
    /// Loads the library before the first cell.
    pub(super) fn load_at_start() {
        if let Some(path) = std::env::var_os(LIBRARY_VARIABLE)
            // SAFETY: the library has no initializers of its own, and each cell loads the same file.
            && let Ok(library) = unsafe { Library::new(path) }
        {
            Self::find(&library);
            std::mem::forget(library);
        }
    }

    /// Looks the functions up in `library` and its dependencies, unless they are known already.
    pub(super) fn find(library: &Library) -> Option<&'static TaperLibrary> {
        if TAPER.get().is_none() {
            // SAFETY: the crate `taper` defines these symbols as safe functions of these types, and the library is
            // never unloaded.
            let found = unsafe {
                let symbol = |name: &[u8]| library.get::<extern "C" fn()>(name).ok();
                (|| {
                    Some((
                        *symbol(b"taper_attach")?,
                        *symbol(b"taper_begin_cell")?,
                        *symbol(b"taper_flush")?,
                        *library.get(b"taper_panic_is_error").ok()?,
                    ))
                })()
            };
            if let Some((attach, begin_cell, flush, panic_is_error)) = found {
                // This is the thread that runs the cells, as the function requires.
                attach();
                let _ = TAPER.set(TaperLibrary {
                    begin_cell,
                    flush,
                    panic_is_error,
                });
                std::thread::spawn(flush_periodically);
            }
        }
        TAPER.get()
    }

    pub(super) fn begin_cell(&self) {
        (self.begin_cell)();
    }

    pub(super) fn flush(&self) {
        (self.flush)();
    }
}

/// Returns whether the panic that begins on this thread is an error of `taper`.
pub(super) fn panic_is_error() -> bool {
    TAPER.get().is_some_and(|taper| (taper.panic_is_error)())
}

/// Begins a cell.
pub(super) fn begin_cell() {
    if let Some(taper) = TAPER.get() {
        taper.begin_cell();
    }
}

/// Flushes what the cell has printed without a newline.
pub(super) fn flush() {
    if let Some(taper) = TAPER.get() {
        taper.flush();
    }
}

fn flush_periodically() {
    while let Some(taper) = TAPER.get() {
        std::thread::sleep(Duration::from_millis(50));
        taper.flush();
    }
}
