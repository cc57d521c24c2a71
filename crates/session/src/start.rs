//! Where this build of Taper lives, and how a session is started from it.

use crate::gpu::{self, settings::Settings};
use crate::image::work::WorkFolder;
use crate::image::{Image, Key};
use crate::progress::{Console, Progress};
use crate::session::evaluator::Evaluator;
use crate::session::{Session, Start};
use anyhow::{Context, Result};
use std::cell::Cell;
use std::path::PathBuf;

/// Overrides the folder of the clone, for a build that was moved.
pub const VARIABLE: &str = "TAPER_HOME";

/// The clone from which this program was built: it holds the crate `taper` and the notebooks.
pub fn folder() -> PathBuf {
    let built_from = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let folder =
        std::env::var_os(VARIABLE).map_or_else(|| PathBuf::from(built_from), PathBuf::from);
    folder.canonicalize().unwrap_or(folder)
}

/// The image that this clone, this compiler and these settings ask for.
pub fn image_key() -> Result<Key> {
    Key::new(&folder(), &Settings::read()?.unwrap_or_default())
}

/// Starts a session in `work`, with the image that is there or a new one.
pub fn start_session(work: WorkFolder, progress: &mut dyn Progress) -> Result<Session> {
    if Settings::read()?.is_none() {
        // No set-up has been asked for: it is done now.
        gpu::settings(progress)?;
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
    unsafe { work.enter() };
    let work = Cell::new(Some(work));
    Ok(move || {
        let work = work.take().context("this process has had its session")?;
        let session = start_session(work, &mut Console::new())?;
        Ok(Box::new(session) as Box<dyn Evaluator>)
    })
}

/// Our own program, for the processes that a session starts; it stays the right one when a newer
/// build takes its place on disk.
pub fn program() -> Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    Ok(std::env::current_exe()?)
}
