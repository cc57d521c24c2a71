//! Starts a session from the checkout in which this build of Taper lives.

use crate::error::{Error, Result};
use crate::image::{self, Condition, Image, Key};
use crate::session::{self, Session, Start};
use crate::workspace::Workspace;
use std::cell::Cell;
use std::path::Path;
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
    let built = build(progress)?;
    built.copy_into(&work)?;
    let work_folder = work.path();
    let session = Session::start(&built.start(&work_folder)?)?;
    Ok(session.keeping(work, built.used))
}

/// Starts a session in `work`. While the image is missing or outdated, for example after `rustup update`, the session
/// runs plain Rust, and a thread builds the image.
///
/// # Errors
///
/// When the toolchain or the sources of `taper` are missing, or the engine does not start.
pub fn start_or_defer(work: Workspace) -> Result<Session> {
    if is_built()? || !session::is_own() {
        return start_session(work, &mut Console::new());
    }
    Session::start_without_library(work, &checkout::folder()?)
}

/// An image that a session can start from, with the lock that marks it as used.
pub(crate) struct Built {
    key: Key,
    image: Image,
    pub(crate) used: Lock,
    /// Whether the settings were chosen for this image: `taper setup` had not been run.
    has_new_settings: bool,
}

impl Built {
    /// Copies the image into a session's folder, which has none.
    pub(crate) fn copy_into(&self, work: &Workspace) -> Result<()> {
        if self.has_new_settings {
            work.configure()?;
        }
        self.image.clone_into(&work.path())
    }

    /// Returns with what a session begins in the work directory that has the image.
    pub(crate) fn start<'a>(&self, work: &'a Path) -> Result<Start<'a>> {
        Ok(Start {
            work,
            taper: self.key.taper.clone(),
            features: self.key.features.clone(),
            library: Some(image::library(work)?),
        })
    }
}

/// Builds the image, if it is missing or outdated.
pub(crate) fn build(progress: &mut dyn Progress) -> Result<Built> {
    let has_new_settings = Settings::read()?.is_none();
    if has_new_settings {
        gpu::settings(&checkout::folder()?, progress)?;
    }
    let key = image_key()?;
    let used = Image::mark_as_used(&key)?;
    let image = Image::ensure(&key, progress)?;
    image.remove_replaced();
    Ok(Built {
        key,
        image,
        used,
        has_new_settings,
    })
}

/// Returns whether [`build`] has nothing to do.
fn is_built() -> Result<bool> {
    Ok(Settings::read()?.is_some() && Image::find(&image_key()?)?.0 == Condition::Ready)
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
