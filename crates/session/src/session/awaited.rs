//! The library `taper` while it is compiled.
//!
//! A cell needs the library if it names it, or a package, or does not compile because it does not know a name that the
//! library exports.

use crate::current::{Current, image_key};
use crate::image::Image;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use taper_evaluator::CellError;
use taper_evaluator::event::COMPILE_ERROR;
use taper_host::mutex::lock;
use taper_host::process::{BACKGROUND, let_others_go_first};
use taper_host::progress::{Progress, Step};
use taper_host::toolchain;
use taper_rust_cell::commands::Cell;
use taper_rust_cell::words;

/// The file in the crate `taper` with the names that cells can use without its name.
const EXPORTS: &str = "src/prelude.rs";

/// The codes of errors about names that the compiler does not know, and about `Result` with one parameter, as in `taper`.
const UNKNOWN_NAME: [&str; 9] = [
    "E0107", "E0405", "E0412", "E0422", "E0425", "E0432", "E0433", "E0531", "E0574",
];

/// The library that a session waits for.
pub(super) struct Awaited {
    /// Builds the image; `None` after a failure, until a cell needs the library again.
    build: Option<JoinHandle<Result<Current>>>,
    progress: Arc<Mutex<String>>,
    /// What a cell says that waits.
    intro: String,
    /// The names that the library exports.
    names: HashSet<String>,
    pub(super) work: Workspace,
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
    pub(super) fn begin(&mut self) {
        let progress = self.progress.clone();
        self.build.get_or_insert_with(|| {
            std::thread::spawn(move || {
                let_others_go_first(BACKGROUND);
                Current::build(&mut Said(progress))
            })
        });
    }

    /// Returns whether the image is being built.
    pub(super) fn is_building(&self) -> bool {
        self.build.is_some()
    }

    /// Returns whether the build has ended.
    pub(super) fn is_done(&self) -> bool {
        self.build.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Returns what a cell shows while it waits.
    pub(super) fn shown(&self) -> String {
        format!("{}\n{}", self.intro, lock(&self.progress))
    }

    /// Returns the image, once the build has ended.
    pub(super) fn take(&mut self) -> Result<Current> {
        let built = self.build.take().map(JoinHandle::join);
        let built = built.and_then(|built| built.ok());
        built.context("the compiler of cells does not start: the build of the library has ended")?
    }

    /// Returns whether code names the library, or a package that is compiled beside it.
    pub(super) fn is_named_in(&self, cell: &Cell) -> bool {
        let has_package = !cell.dependencies.is_empty() || cell.rest.contains("extern crate");
        has_package || words::of(&cell.rest).contains("taper")
    }

    /// Returns whether code did not compile because it uses a name that the library exports.
    pub(super) fn is_missing(&self, error: &CellError) -> bool {
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
