//! Builds an image: compiles `taper` and its dependencies, and runs a first cell.

use super::cargo;
use super::cells_crate::{WARM_ARGUMENT, run_first, write_crate};
use super::key::Key;
use super::layout::{KEPT, PACKAGES, WORK};
use super::libraries;
use super::manifest::Manifest;
use super::{origin, taken, trial};
use crate::environment::cargo_home;
use crate::workspace;
use anyhow::Result;
use std::path::Path;
use std::time::Instant;
use taper_host::cache;
use taper_host::checks;
use taper_host::components;
use taper_host::error::OnFile as _;
use taper_host::progress::{Progress, duration};
use taper_host::toolchain;

/// Builds the image in `folder`, and continues where an earlier build stopped.
pub(crate) fn build(key: &Key, folder: &Path, progress: &mut dyn Progress) -> Result<()> {
    checks::before_building(folder, has_begun(folder))?;
    components::add_library_source(progress)?;
    let start = Instant::now();
    Manifest::remove(folder)?;
    origin::write(key, folder)?;
    taken::note(folder, cargo_home())?;
    workspace::configure(folder)?;
    let is_first = !has_begun(folder);
    if is_first {
        progress.line("Checking that cells run with this Rust.");
        let lost = trial::run(key, folder, progress)?;
        lost.lines().for_each(|line| progress.line(line));
    }
    prepare(key, folder)?;
    let work = folder.join(WORK);
    cache::remove(&folder.join(PACKAGES))?;
    if let Some(other) = origin::other(key, folder) {
        progress.line(&other.describe(toolchain::release()?));
    }
    progress.line("Compiling Taper and its dependencies (once; later starts take seconds).");
    cargo::compile(&work, progress)?.write(&work)?;
    libraries::keep_metadata(&work)?;
    progress.line("Running a first cell.");
    run_first(WARM_ARGUMENT, &key.taper, &key.features, &work, progress)?;
    if is_first {
        origin::note_time(folder, start.elapsed())?;
    }
    progress.line(&format!("Compiled in {}.", duration(start.elapsed())));
    Ok(())
}

/// Returns whether an earlier build has written into the image's folder.
pub(crate) fn has_begun(folder: &Path) -> bool {
    folder.join(WORK).exists()
}

/// Deletes what was built, with the sources that an import brought and what sessions have compiled.
pub(crate) fn wipe(folder: &Path) -> Result<()> {
    Manifest::remove(folder)?;
    for part in [PACKAGES, KEPT, WORK] {
        cache::remove(&folder.join(part))?;
    }
    Ok(())
}

/// Writes the crate, and what cargo reads beside it.
fn prepare(key: &Key, folder: &Path) -> Result<()> {
    let work = folder.join(WORK);
    cache::make(&work)?;
    write_crate(&work, &key.taper, &key.features)?;
    // The locked versions; cargo removes from the copy what this crate does not need.
    let lock = key.taper.join("Cargo.lock");
    std::fs::copy(&lock, work.join("Cargo.lock")).on_file("copy", &lock)?;
    Ok(())
}
