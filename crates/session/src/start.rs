//! Starts a session from the checkout in which this build of Taper lives.

use crate::error::{Error, Result};
use crate::image::{self, Condition, Image, Key};
use crate::session::{Session, Start};
use crate::workspace::Workspace;
use std::cell::Cell;
use taper_evaluator::Evaluator;
use taper_host::checkout;
use taper_host::gpu::{self, settings::Settings};
use taper_host::lock::Lock;
use taper_host::progress::{Console, Progress};

/// Returns the key of the image for this checkout, the compiler on the PATH and the saved settings.
///
/// # Errors
///
/// When the settings, the compiler or the sources of `taper` cannot be read.
pub fn image_key() -> Result<Key> {
    Key::new(&checkout::folder()?, &Settings::read()?.unwrap_or_default())
}

/// Starts a session in `work`. Builds the image first if it is missing or outdated.
///
/// # Errors
///
/// When the image cannot be built, or the engine does not start.
pub fn start_session(work: Workspace, progress: &mut dyn Progress) -> Result<Session> {
    let built = build(&work, progress)?;
    start_built(work, built)
}

/// An image that a session can start from, with the lock that marks it as used.
pub(crate) struct Built {
    key: Key,
    image: Image,
    used: Lock,
}

/// Builds the image for a session in `work`, if it is missing or outdated.
pub(crate) fn build(work: &Workspace, progress: &mut dyn Progress) -> Result<Built> {
    if Settings::read()?.is_none() {
        // `taper setup` has not been run.
        gpu::settings(&checkout::folder()?, progress)?;
        work.configure()?;
    }
    let key = image_key()?;
    let used = Image::mark_as_used(&key)?;
    let image = Image::ensure(&key, progress)?;
    image.remove_replaced();
    Ok(Built { key, image, used })
}

/// Returns whether [`build`] has nothing to do.
pub(crate) fn is_built() -> Result<bool> {
    Ok(Settings::read()?.is_some() && Image::find(&image_key()?)?.0 == Condition::Ready)
}

/// Starts a session in `work` from what [`build`] returned.
pub(crate) fn start_built(work: Workspace, built: Built) -> Result<Session> {
    let Built { key, image, used } = built;
    image.clone_into(&work.path())?;
    let start = Start {
        work: &work.path(),
        taper: key.taper,
        features: key.features,
        library: image::library(&work.path())?,
    };
    Ok(Session::start(&start)?.keeping(work, used))
}

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
        let work = work.take().ok_or(Error::Started)?;
        let session = start_session(work, &mut Console::new())?;
        Ok(Box::new(session) as Box<dyn Evaluator>)
    })
}
