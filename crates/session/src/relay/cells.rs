//! The cells process: loads each compiled cell and calls it.
//!
//! evcxr has such a loop too (`runtime_hook`). This one differs at the end of a cell: it flushes what
//! the cell left in the buffer of the shared standard library, and it announces the end with the
//! secret. A cell that prints evcxr's end mark therefore only prints text.

use super::order;
use super::protocol::{LIBRARY_VARIABLE, SECRET_VARIABLE};
use crate::error::{Error, Result};
use libloading::Library;
use std::ffi::c_void;
use std::io::{BufRead, Write};
use std::sync::OnceLock;
use std::time::Duration;
use taper_evaluator::record::MARK;
use taper_host::error::describe;

/// The function that each compiled cell exports: it takes the variables and returns them.
type CellFunction = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// Runs cells until the end of standard input.
pub(crate) fn run() -> ! {
    end_with_parent();
    order::keep_order();
    TaperLibrary::load_at_start();
    // Kept here: a cell may remove the variable.
    let secret = std::env::var(SECRET_VARIABLE).unwrap_or_default();
    let mut variables = std::ptr::null_mut();
    for line in std::io::stdin().lock().lines() {
        match line
            .map_err(Error::system("read the next instruction"))
            .and_then(|l| run_cell(&l, variables, &secret))
        {
            Ok(after) => variables = after,
            Err(error) => {
                let error = describe(&error);
                eprintln!("taper: a compiled cell could not be run: {error}");
                std::process::exit(99);
            }
        }
    }
    std::process::exit(0);
}

fn run_cell(instruction: &str, variables: *mut c_void, secret: &str) -> Result<*mut c_void> {
    let words = instruction.strip_prefix("LOAD_AND_RUN ");
    let words = words.and_then(|words| words.rsplit_once(' '));
    let (path, function) = words.ok_or_else(|| Error::Instruction(instruction.to_owned()))?;
    // SAFETY: evcxr has just compiled this library from the cell, which the user asked to run.
    let library = unsafe { Library::new(path) }?;
    // SAFETY: evcxr generates the function with this type.
    let cell = unsafe { library.get::<CellFunction>(function.as_bytes()) }?;
    let taper = TaperLibrary::find(&library);
    if let Some(taper) = taper {
        (taper.begin_cell)();
    }
    // SAFETY: evcxr's code in the cell expects what the previous cell returned, or null before the first.
    let after = unsafe { cell(variables) };
    if let Some(taper) = taper {
        (taper.flush)();
    }
    announce_end(secret);
    // Never unloaded: values and thread-local destructors of later cells point into it.
    std::mem::forget(library);
    Ok(after)
}

fn announce_end(secret: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(format!("{MARK}{secret} {{\"op\":\"complete\"}}\n").as_bytes());
    let _ = stdout.flush();
}

/// The functions that the library `taper` exports for the cells process (`src/notebook/hooks.rs`).
struct TaperLibrary {
    begin_cell: extern "C" fn(),
    flush: extern "C" fn(),
}

static TAPER: OnceLock<TaperLibrary> = OnceLock::new();

impl TaperLibrary {
    fn load_at_start() {
        if let Some(path) = std::env::var_os(LIBRARY_VARIABLE)
            // SAFETY: the library has no initializers of its own, and each cell loads the same file.
            && let Ok(library) = unsafe { Library::new(path) }
        {
            Self::find(&library);
            std::mem::forget(library);
        }
    }

    /// Looks the functions up in `library` and its dependencies, unless they are known already.
    fn find(library: &Library) -> Option<&'static TaperLibrary> {
        if TAPER.get().is_none() {
            // SAFETY: the crate `taper` defines these symbols as safe functions without arguments and
            // result, and the library is never unloaded.
            let found = unsafe {
                let symbol = |name: &[u8]| library.get::<extern "C" fn()>(name).ok();
                (|| {
                    Some((
                        *symbol(b"taper_attach")?,
                        *symbol(b"taper_begin_cell")?,
                        *symbol(b"taper_flush")?,
                    ))
                })()
            };
            if let Some((attach, begin_cell, flush)) = found {
                // This is the thread that runs the cells, as the function requires.
                attach();
                let _ = TAPER.set(TaperLibrary { begin_cell, flush });
                std::thread::spawn(flush_periodically);
            }
        }
        TAPER.get()
    }
}

fn flush_periodically() {
    while let Some(taper) = TAPER.get() {
        std::thread::sleep(Duration::from_millis(50));
        (taper.flush)();
    }
}

/// Ends this process when the relay ends: nothing reads the output of the cells any more.
fn end_with_parent() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    #[cfg(unix)]
    taper_host::process::when_parent_ends(|| std::process::abort());
}
