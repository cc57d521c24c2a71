//! Starts a session from the checkout in which this build of Taper lives.

use crate::current::Current;
use crate::session::{self, Session, Start};
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::cell::Cell;
use taper_evaluator::Evaluator;
use taper_host::checkout;
use taper_host::progress::{Console, Progress};

/// Starts a session in `work`. Builds the image first if it is missing or outdated.
///
/// # Errors
///
/// When the image cannot be built, or the engine does not start.
pub fn start_session(work: Workspace, progress: &mut dyn Progress) -> Result<Session> {
    let current = Current::build(progress)?;
    let library = current.copy_into(&work)?;
    let start = Start {
        work: &work.path(),
        taper: current.key.taper,
        features: current.key.features,
        library: Some(library),
    };
    Ok(Session::start(&start)?.keeping(work, current.used))
}

/// Starts a session in `work`. While the image is missing or outdated, for example after `rustup update`, the session
/// runs plain Rust, and a thread builds the image.
///
/// # Errors
///
/// When the toolchain or the sources of `taper` are missing, or the engine does not start.
pub fn start_or_defer(work: Workspace) -> Result<Session> {
    if Current::is_built()? || !session::is_own() {
        return start_session(work, &mut Console::new());
    }
    Session::start_without_library(work, &checkout::folder()?)
}

const STARTED: &str =
    "a process can start one session, and this one has tried: run the command again";

/// Returns the function that starts the runner's evaluator. It can be called once, even if the start fails.
///
/// Call it before any thread is started: it sets environment variables.
///
/// # Errors
///
/// When the session's folder cannot be created.
pub fn evaluator() -> Result<impl Fn() -> Result<Box<dyn Evaluator>>> {
    let work = Workspace::create()?;
    // SAFETY: `main` calls this before it starts a thread.
    unsafe { work.enter() };
    let work = Cell::new(Some(work));
    Ok(move || {
        let work = work.take().context(STARTED)?;
        let session = start_session(work, &mut Console::new())?;
        Ok(Box::new(session) as Box<dyn Evaluator>)
    })
}
