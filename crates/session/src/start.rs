//! Starts a session from the clone in which this build of Taper lives.

use crate::image::{Image, Key};
use crate::session::{Session, Start};
use crate::workspace::WorkFolder;
use anyhow::{Context, Result};
use std::cell::Cell;
use taper_evaluator::Evaluator;
use taper_host::checkout;
use taper_host::gpu::{self, settings::Settings};
use taper_host::progress::{Console, Progress};

/// The image that this clone, this compiler and these settings ask for.
pub fn image_key() -> Result<Key> {
    Key::new(&checkout::folder(), &Settings::read()?.unwrap_or_default())
}

/// Starts a session in `work`, with the image that is there or a new one.
pub fn start_session(work: WorkFolder, progress: &mut dyn Progress) -> Result<Session> {
    if Settings::read()?.is_none() {
        // No set-up has been asked for: it is done now.
        gpu::settings(&checkout::folder(), progress)?;
        work.configure()?;
    }
    let key = image_key()?;
    let image = Image::ensure(&key, progress)?;
    image.clone_into(&work.path())?;
    let start = Start {
        work: &work.path(),
        taper: key.taper,
        features: key.features,
        library: image.library(&work.path()),
    };
    Ok(Session::start(&start)?.keeping(work))
}

/// What the headless runner evaluates cells with. It starts at most one session in this process.
///
/// Call it before any thread is started: it sets the environment.
pub fn evaluator() -> Result<impl Fn() -> Result<Box<dyn Evaluator>>> {
    let work = WorkFolder::create()?;
    // SAFETY: `main` calls us before it starts a thread.
    unsafe { work.enter() }?;
    let work = Cell::new(Some(work));
    Ok(move || {
        let work = work.take().context("this process has had its session")?;
        let session = start_session(work, &mut Console::new())?;
        Ok(Box::new(session) as Box<dyn Evaluator>)
    })
}
