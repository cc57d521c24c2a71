//! The library `taper` while it is compiled, for example after `rustup update`.
//!
//! A thread builds the image, or waits for another process that does. Meanwhile the session runs plain Rust. A cell that
//! needs the library waits for it and shows the progress; an interrupt ends the wait, and not the build. When the image is
//! there, the library is loaded into the process that runs the cells, which keeps their variables.
//!
//! A cell needs the library if it names it, or a package, or does not compile because it does not know a name that the
//! library exports.

use super::dependencies::LiveLine;
use super::{Session, Silent, diagnostics};
use crate::error::{Error, Result};
use crate::image::Image;
use crate::start::{Built, build, image_key};
use crate::workspace::Workspace;
use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use taper_evaluator::event::COMPILE_ERROR;
use taper_evaluator::{CellError, Front};
use taper_host::error::describe;
use taper_host::mutex::lock;
use taper_host::process::{BACKGROUND, let_others_go_first};
use taper_host::progress::{Progress, Step};
use taper_host::toolchain;
use taper_rust_cell::commands::Cell;
use taper_rust_cell::words;

/// How often to look whether the library is there.
const POLL: Duration = Duration::from_millis(200);

/// The file in the crate `taper` with the names that cells can use without its name.
const EXPORTS: &str = "src/prelude.rs";

/// The codes of errors about names that the compiler does not know, and about `Result` with one parameter, as in `taper`.
const UNKNOWN_NAME: [&str; 9] = [
    "E0107", "E0405", "E0412", "E0422", "E0425", "E0432", "E0433", "E0531", "E0574",
];

/// The library that a session waits for.
pub(super) struct Awaited {
    /// Builds the image; `None` after a failure, until a cell needs the library again.
    build: Option<JoinHandle<Result<Built>>>,
    progress: Arc<Mutex<String>>,
    /// What a cell says that waits.
    intro: String,
    /// The names that the library exports.
    names: HashSet<String>,
    work: Workspace,
}

impl Awaited {
    /// Begins to build the image for a session in `work`. `taper` is the folder of the crate.
    pub(super) fn new(work: Workspace, taper: &Path) -> Awaited {
        let exports = std::fs::read_to_string(taper.join(EXPORTS)).unwrap_or_default();
        let mut awaited = Awaited {
            build: None,
            progress: Arc::default(),
            intro: intro(),
            names: words::of(&exports),
            work,
        };
        awaited.begin();
        awaited
    }

    /// Begins to build the image, unless that has begun.
    fn begin(&mut self) {
        let progress = self.progress.clone();
        self.build.get_or_insert_with(|| {
            std::thread::spawn(move || {
                let_others_go_first(BACKGROUND);
                build(&mut Said(progress))
            })
        });
    }

    fn is_done(&self) -> bool {
        self.build.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Returns whether code names the library, or a package that is compiled beside it.
    fn is_named_in(&self, cell: &Cell) -> bool {
        let has_package = !cell.dependencies.is_empty() || cell.rest.contains("extern crate");
        has_package || words::of(&cell.rest).contains("taper")
    }

    /// Returns whether code did not compile because it uses a name that the library exports.
    fn is_missing(&self, error: &CellError) -> bool {
        let code = error
            .message
            .strip_prefix('[')
            .and_then(|it| it.split(']').next());
        let is_about_a_name = code.is_some_and(|code| UNKNOWN_NAME.contains(&code))
            || error.message.contains("cannot find macro");
        let mut quoted = error.message.split('`').skip(1).step_by(2);
        error.name == COMPILE_ERROR
            && is_about_a_name
            && quoted.any(|it| words::of(it).iter().any(|word| self.names.contains(word)))
    }
}

impl Session {
    /// Loads the library if it is there by now. Returns when to look again.
    pub(super) fn look_for_library(&mut self) -> Option<Duration> {
        let awaited = self.awaited.as_ref()?;
        awaited.build.as_ref()?;
        if awaited.is_done() {
            // A cell that needs the library says why it is missing.
            let _ = self.load_library();
        }
        self.awaited.as_ref()?.build.as_ref().map(|_| POLL)
    }

    /// Runs the commands of a cell, then its Rust, with the library if the cell needs it.
    pub(super) fn run_with_library(
        &mut self,
        cell: &Cell,
        names_library: bool,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        self.look_for_library();
        let Some(awaited) = &self.awaited else {
            return self.run_all(cell, front);
        };
        if names_library || awaited.is_named_in(cell) {
            self.wait_for_library(front)?;
            return self.run_all(cell, front);
        }
        let result = self.run_all(cell, front);
        let is_missing = |error: &CellError| {
            let awaited = self.awaited.as_ref();
            // A shell line has run already.
            cell.shell.is_empty() && awaited.is_some_and(|it| it.is_missing(error))
        };
        match result {
            Err(error) if is_missing(&error) => {
                self.wait_for_library(front)?;
                self.run_all(cell, front)
            }
            result => result,
        }
    }

    /// Waits until the library is compiled, and shows the progress; then loads it.
    fn wait_for_library(&mut self, front: &mut dyn Front) -> Result<(), CellError> {
        let interrupter = self.interrupter.clone();
        let Some(awaited) = &mut self.awaited else {
            return Ok(());
        };
        awaited.begin();
        let emit = &mut |event| front.event(event);
        let mut line = LiveLine::with(emit, &interrupter);
        let mut shown = String::new();
        while !awaited.is_done() {
            if line.is_stopped() {
                line.end("Waited", " The library is still being compiled.");
                return Err(diagnostics::error("Interrupted", "", None));
            }
            let now = lock(&awaited.progress).clone();
            if now != shown {
                line.line(&format!("{}\n{now}", awaited.intro));
                shown = now;
            }
            std::thread::sleep(POLL);
        }
        let loaded = self.load_library();
        match &loaded {
            Ok(()) => line.end("The library `taper` is ready. Waited", ""),
            Err(_) => line.end("Failed after", ""),
        }
        loaded.map_err(|error| diagnostics::error("StartError", &describe(&error), None))
    }

    /// Loads the library, for which the image has been built.
    fn load_library(&mut self) -> Result<()> {
        let Some(mut awaited) = self.awaited.take() else {
            return Ok(());
        };
        let built = awaited.build.take().map(JoinHandle::join);
        let loaded = match built {
            Some(Ok(built)) => built.and_then(|built| self.load(&awaited.work, built)),
            _ => Err(Error::Start(
                "the build of the library has ended".to_owned(),
            )),
        };
        match loaded {
            Ok(()) => self.work = Some(awaited.work),
            Err(_) => self.awaited = Some(awaited),
        }
        loaded
    }

    fn load(&mut self, work: &Workspace, built: Built) -> Result<()> {
        built.copy_into(work)?;
        let folder = self.folder.clone();
        let start = built.start(&folder)?;
        let loaded = self.own().map_or(Ok(()), |own| own.load_image(&start));
        let first_cell = self.first_cell();
        loaded.map_err(|error| {
            let context = diagnostics::Context::new(&first_cell, &self.names, &[]);
            Error::own_cell(&first_cell)(diagnostics::explain(error, &context))
        })?;
        self.image = Some(built.used);
        let result = self.run(&first_cell, &mut Silent);
        result.map_err(Error::own_cell(&first_cell))
    }
}

/// Returns what a cell says that waits.
fn intro() -> String {
    const WAITS: &str = "This cell needs the library `taper`, which is being compiled, once. Cells of plain Rust run \
        meanwhile: interrupt this one.";
    let other = image_key().ok().and_then(|key| Image::other(&key));
    match (other, toolchain::release()) {
        (Some(other), Ok(release)) => format!("{WAITS}\n{}", other.describe(release)),
        _ => WAITS.to_owned(),
    }
}

/// Keeps the last thing that the build has reported.
struct Said(Arc<Mutex<String>>);

impl Progress for Said {
    fn line(&mut self, text: &str) {
        text.clone_into(&mut lock(&self.0));
    }

    fn step(&mut self, step: &Step) {
        *lock(&self.0) = step.describe();
    }
}
