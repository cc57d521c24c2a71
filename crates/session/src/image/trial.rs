//! A small image, in which cells run before the large one is compiled: a first one, and those that need the words of rustc
//! which the engine reads. If they do not run with a new release of Rust, the user learns it in seconds rather than after
//! minutes.

use super::cargo;
use super::cells_crate::{TRY_ARGUMENT, run_first, write_crate};
use super::key::Key;
use super::layout::WORK;
use anyhow::Result;
use std::path::Path;
use taper_host::cache;
use taper_host::progress::{Progress, Step};

/// The folder in an image's folder.
const FOLDER: &str = "trial";
/// A few lines in place of the library.
const LIBRARY: &str = include_str!("trial/taper.rs");

/// Runs cells in a small image, and removes that image. Returns what cells cannot do with this Rust, a line for each.
///
/// # Errors
///
/// When it does not compile, or variables are not kept.
pub(super) fn run(key: &Key, folder: &Path, progress: &dyn Progress) -> Result<String> {
    let folder = folder.join(FOLDER);
    cache::remove(&folder)?;
    let result = build(key, &folder, progress);
    cache::remove(&folder)?;
    result
}

fn build(key: &Key, folder: &Path, progress: &dyn Progress) -> Result<String> {
    let taper = folder.join("taper");
    cache::make(&taper.join("src"))?;
    cache::write_atomically(&taper.join("src/lib.rs"), LIBRARY.as_bytes())?;
    cache::write_atomically(&taper.join("Cargo.toml"), manifest(key).as_bytes())?;
    let work = folder.join(WORK);
    write_crate(&work, &taper, &key.features)?;
    cargo::compile(&work, &mut Quiet(progress))?.write(&work)?;
    run_first(TRY_ARGUMENT, &taper, &key.features, &work, progress)
}

/// Shows nothing, and stops when the user asks for it.
struct Quiet<'a>(&'a dyn Progress);

impl Progress for Quiet<'_> {
    fn line(&mut self, _text: &str) {}

    fn step(&mut self, _step: &Step) {}

    fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }
}

fn manifest(key: &Key) -> String {
    let features = key.features.iter();
    let features: String = features.map(|name| format!("{name} = []\n")).collect();
    format!(
        "[package]\nname = \"taper\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [lib]\ncrate-type = [\"dylib\", \"rlib\"]\n\n[features]\n{features}"
    )
}
