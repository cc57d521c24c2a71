//! The cells process: loads each compiled cell and calls it.
//!
//! evcxr's own loop (`runtime_hook`) does the same in as many lines. Ours differs at the end of a
//! cell: it flushes what the cell left in the shared standard library's buffer, and it announces
//! the end with the secret, so a cell that prints evcxr's end mark only prints some text.

use super::order;
use super::protocol::{LIBRARY_VARIABLE, SECRET_VARIABLE};
use anyhow::{Context, Result, bail};
use libloading::Library;
use std::ffi::c_void;
use std::io::{BufRead, Write};
use std::sync::OnceLock;
use std::time::Duration;
use taper_evaluator::record::MARK;

/// What every compiled cell exports: takes the variables and gives them back.
type CellFunction = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// Runs cells until standard input ends.
pub(crate) fn run() -> ! {
    end_with_parent();
    order::keep_order();
    TaperLibrary::load_at_start();
    let mut variables = std::ptr::null_mut();
    for line in std::io::stdin().lock().lines() {
        match line
            .map_err(Into::into)
            .and_then(|l| run_cell(&l, variables))
        {
            Ok(after) => variables = after,
            Err(error) => {
                eprintln!("taper: a compiled cell could not be run: {error:#}");
                std::process::exit(99);
            }
        }
    }
    std::process::exit(0);
}

fn run_cell(instruction: &str, variables: *mut c_void) -> Result<*mut c_void> {
    let mut words = instruction.rsplitn(2, ' ');
    let (Some(function), Some(path)) = (words.next(), words.next()) else {
        bail!("unknown instruction `{instruction}`");
    };
    let path = path.strip_prefix("LOAD_AND_RUN ").context("no path")?;
    // SAFETY: evcxr has just compiled this library and this function for us.
    let library = unsafe { Library::new(path) }?;
    let cell = unsafe { library.get::<CellFunction>(function.as_bytes()) }?;
    let taper = TaperLibrary::find(&library);
    if let Some(taper) = taper {
        taper.begin_cell();
    }
    // SAFETY: `variables` is what the previous cell returned, or null before the first.
    let after = unsafe { cell(variables) };
    if let Some(taper) = taper {
        taper.flush();
    }
    announce_end();
    // Never unloaded: values and thread-local destructors of later cells point into it.
    std::mem::forget(library);
    Ok(after)
}

fn announce_end() {
    let secret = std::env::var(SECRET_VARIABLE).unwrap_or_default();
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(format!("{MARK}{secret} {{\"op\":\"complete\"}}\n").as_bytes());
    let _ = stdout.flush();
}

/// The functions that the library `taper` exports for us (`src/notebook/hooks.rs` there).
struct TaperLibrary {
    begin_cell: unsafe extern "C" fn(),
    flush: unsafe extern "C" fn(),
}

static TAPER: OnceLock<TaperLibrary> = OnceLock::new();

impl TaperLibrary {
    fn load_at_start() {
        if let Some(path) = std::env::var_os(LIBRARY_VARIABLE)
            // SAFETY: `taper`'s initialisers do nothing; a cell would load the same file.
            && let Ok(library) = unsafe { Library::new(path) }
        {
            Self::find(&library);
            std::mem::forget(library);
        }
    }

    /// Looks for the functions in `library` and what it depends on, if they are not known yet.
    fn find(library: &Library) -> Option<&'static TaperLibrary> {
        if TAPER.get().is_none() {
            // SAFETY: these names have these types in every `taper`.
            let found = unsafe {
                let symbol = |name: &[u8]| library.get::<unsafe extern "C" fn()>(name).ok();
                (|| {
                    Some((
                        *symbol(b"taper_attach")?,
                        *symbol(b"taper_begin_cell")?,
                        *symbol(b"taper_flush")?,
                    ))
                })()
            };
            if let Some((attach, begin_cell, flush)) = found {
                // SAFETY: we are on the thread that runs the cells.
                unsafe { attach() };
                let _ = TAPER.set(TaperLibrary { begin_cell, flush });
                std::thread::spawn(flush_now_and_then);
            }
        }
        TAPER.get()
    }

    fn begin_cell(&self) {
        // SAFETY: the function touches one atomic.
        unsafe { (self.begin_cell)() }
    }

    fn flush(&self) {
        // SAFETY: the function flushes standard output, which any thread may do.
        unsafe { (self.flush)() }
    }
}

fn flush_now_and_then() {
    while let Some(taper) = TAPER.get() {
        std::thread::sleep(Duration::from_millis(50));
        taper.flush();
    }
}

/// Nobody reads what we print once the relay is gone.
fn end_with_parent() {
    #[cfg(target_os = "linux")]
    // SAFETY: plain system call.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    #[cfg(unix)]
    taper_host::process::when_parent_ends(|| std::process::abort());
}
