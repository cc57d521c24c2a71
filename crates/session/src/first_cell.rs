//! The hidden commands that run the first cell of a new image (see `image/build.rs`), and try before what cells do with this
//! Rust (see `image/trial.rs`).

use crate::image;
use crate::session::{self, ENGINE, Session, Silent, Start};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::PathBuf;
use taper_engine::{HOLDS, Hold};
use taper_evaluator::{Evaluator, Event, Front};

const CELL: &str = "let warm = zeros(2);\nwarm";

/// Runs `taper __warm WORK TAPER FEATURES…`.
pub(crate) fn run(arguments: &[OsString]) -> Result<Session> {
    let [work, taper, features @ ..] = arguments else {
        bail!("expected the arguments of a first cell");
    };
    let work = PathBuf::from(work);
    // What it compiles is for our own engine. The other finds it.
    // SAFETY: `main` calls `hook` before it starts a thread.
    unsafe { std::env::remove_var(ENGINE) };
    let mut session = Session::start(&Start {
        library: Some(image::library(&work)?),
        work: &work,
        taper: PathBuf::from(taper),
        features: features
            .iter()
            .map(|f| f.to_string_lossy().into_owned())
            .collect(),
    })?;
    let result = session.execute(CELL, None, &mut Silent);
    result.with_context(|| session::own_cell(CELL))?;
    Ok(session)
}

/// Runs `taper __try WORK TAPER FEATURES…`. Without the first hold, cells are of no use; what else is lost is printed.
pub(crate) fn try_holds(arguments: &[OsString]) -> Result<()> {
    let mut session = run(arguments)?;
    let (first, others) = HOLDS.split_first().expect("a hold");
    check(&mut session, first)?;
    for lost in others
        .iter()
        .filter_map(|hold| check(&mut session, hold).err())
    {
        eprintln!("{lost}");
    }
    Ok(())
}

fn check(session: &mut Session, hold: &Hold) -> Result<()> {
    let mut shown = Shown(String::new());
    for cell in hold.cells {
        if let Err(error) = session.execute(cell, None, &mut shown) {
            shown.0 = error.to_string();
            break;
        }
    }
    if shown.0 == hold.shown {
        return Ok(());
    }
    let (Hold { lost, cells, .. }, Shown(shown)) = (hold, shown);
    bail!("{lost} After the cells {cells:?}, the value is {shown:?}.")
}

/// Keeps the last value.
struct Shown(String);

impl Front for Shown {
    fn event(&mut self, event: Event) {
        if let Event::Result { data, .. } = event {
            let text = data.get("text/plain").and_then(|it| it.as_str());
            self.0 = text.unwrap_or_default().to_owned();
        }
    }

    fn input(&mut self, _prompt: &str, _password: bool) -> Option<String> {
        None
    }
}
