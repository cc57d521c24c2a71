//! The hidden command that runs the first cells of a new image (see `image/build.rs`).

use crate::image::work;
use crate::session::evaluator::{Evaluator, Front};
use crate::session::event::Event;
use crate::session::{Session, Start};
use anyhow::{Result, bail};
use std::ffi::OsString;
use std::path::PathBuf;

/// A cell that runs, and one whose error makes evcxr call `cargo check`.
const CELLS: [(&str, bool); 2] = [
    ("let warm = zeros(2, &cpu())?;\nwarm", true),
    ("let cold: i32 = \"\";", false),
];

/// `taper __warm WORK TAPER FEATURES…`
pub fn run(arguments: &[OsString]) -> Result<()> {
    let [work, taper, features @ ..] = arguments else {
        bail!("expected the work directory and the folder of taper");
    };
    let work = PathBuf::from(work);
    // SAFETY: `main` has started no thread yet.
    unsafe { work::enter(&work) };
    let mut session = Session::start(&Start {
        work: &work,
        taper: PathBuf::from(taper),
        features: features
            .iter()
            .map(|f| f.to_string_lossy().into_owned())
            .collect(),
        library: None,
    })?;
    for (cell, succeeds) in CELLS {
        let result = session.execute(cell, &mut Quiet);
        if result.is_ok() != succeeds {
            bail!("the cell `{cell}` gave {result:?}");
        }
    }
    Ok(())
}

struct Quiet;

impl Front for Quiet {
    fn event(&mut self, _event: Event) {}

    fn input(&mut self, _prompt: &str, _password: bool) -> Option<String> {
        None
    }
}
