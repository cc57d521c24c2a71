//! The hidden command that runs the first cell of a new image (see `image/build.rs`).

use crate::error::{Error, Result};
use crate::image;
use crate::session::{ENGINE, Session, Silent, Start};
use std::ffi::OsString;
use std::path::PathBuf;
use taper_evaluator::Evaluator;

const CELL: &str = "let warm = zeros(2);\nwarm";

/// Runs `taper __warm WORK TAPER FEATURES…`.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    let [work, taper, features @ ..] = arguments else {
        return Err(Error::Arguments("the arguments of a first cell"));
    };
    let work = PathBuf::from(work);
    // What it compiles is for our own engine. The other finds it.
    // SAFETY: `main` calls `hook` before it starts a thread.
    unsafe { std::env::remove_var(ENGINE) };
    let mut session = Session::start(&Start {
        library: image::library(&work)?,
        work: &work,
        taper: PathBuf::from(taper),
        features: features
            .iter()
            .map(|f| f.to_string_lossy().into_owned())
            .collect(),
    })?;
    let result = session.execute(CELL, None, &mut Silent);
    result.map_err(Error::own_cell(CELL))
}
