//! The hidden command that runs the first cell of a new image (see `image/build.rs`).

use crate::error::{Error, Result};
use crate::session::{Session, Silent, Start};
use crate::{compile, image, workspace};
use std::ffi::OsString;
use std::path::PathBuf;
use taper_evaluator::Evaluator;

const CELL: &str = "let warm = zeros(2);\nwarm";

/// Runs `taper __warm WORK TAPER FEATURES…`.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    let [work, taper, features @ ..] = arguments else {
        return Err(Error::Arguments("the arguments of a first cell"));
    };
    // Compilers report real paths. In what is kept of their messages, a placeholder replaces this one.
    let work = PathBuf::from(work).canonicalize();
    let work = work.map_err(Error::system("find the folder of an image"))?;
    // SAFETY: `main` calls `hook` before it starts a thread.
    unsafe {
        workspace::enter(&work)?;
        std::env::set_var(compile::KEEP_CELLS, "1");
    }
    let mut session = Session::start(&Start {
        library: image::library(&work)?,
        work: &work,
        taper: PathBuf::from(taper),
        features: features
            .iter()
            .map(|f| f.to_string_lossy().into_owned())
            .collect(),
    })?;
    let result = session.execute(CELL, &mut Silent);
    result.map_err(Error::own_cell(CELL))
}
