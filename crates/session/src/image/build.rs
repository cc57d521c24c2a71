//! Builds an image: compiles `taper` and its dependencies, and runs a first cell.

use super::cargo;
use super::key::Key;
use super::layout::{KEPT, PACKAGES, WORK};
use super::libraries;
use super::manifest::Manifest;
use super::{origin, taken, trial};
use crate::environment::cargo_home;
use crate::error::{Error, Result};
use crate::workspace;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;
use taper_host::cache;
use taper_host::checks;
use taper_host::error::Context as _;
use taper_host::library_source;
use taper_host::process;
use taper_host::progress::{Progress, duration};
use taper_host::toolchain::{self, RUSTC_VARIABLE};

/// The first argument with which this program runs the first cell of a new image.
pub(crate) const WARM_ARGUMENT: &str = "__warm";

/// The manifest of the cells' crate, up to the dependencies. Its name and its profile are those of evcxr's manifest,
/// so that evcxr finds the packages compiled where it is built in.
const MANIFEST: &str = r#"
[package]
name = "ctx"
version = "1.0.0"
edition = "2024"

[lib]
crate-type = ["cdylib"]
path = "src/lib.rs"

[profile.dev]
opt-level = 2
debug = false
strip = "debuginfo"
rpath = true
lto = false
debug-assertions = true
codegen-units = 16
panic = 'unwind'
incremental = true
overflow-checks = true

[dependencies]
"#;

/// Builds the image in `folder`, and continues where an earlier build stopped.
pub(crate) fn build(key: &Key, folder: &Path, progress: &mut dyn Progress) -> Result<()> {
    checks::before_building(folder, has_begun(folder))?;
    library_source::add(progress)?;
    let start = Instant::now();
    Manifest::remove(folder)?;
    origin::write(key, folder)?;
    taken::note(folder, cargo_home())?;
    workspace::configure(folder)?;
    if !has_begun(folder) {
        progress.line("Trying a first cell, with a few lines in place of Taper.");
        trial::run(key, folder, progress)?;
    }
    prepare(key, folder)?;
    let work = folder.join(WORK);
    remove_packages(folder)?;
    progress.line("Compiling Taper and its dependencies (once; later starts take seconds).");
    cargo::compile(&work, progress)?.write(&work)?;
    libraries::keep_metadata(&work)?;
    progress.line("Running a first cell.");
    warm(&key.taper, &key.features, &work, progress)?;
    progress.line(&format!("Compiled in {}.", duration(start.elapsed())));
    Ok(())
}

/// Returns whether an earlier build has written into the image's folder.
pub(crate) fn has_begun(folder: &Path) -> bool {
    folder.join(WORK).exists()
}

/// Deletes what was built.
pub(crate) fn wipe(folder: &Path) -> Result<()> {
    Manifest::remove(folder)?;
    remove_packages(folder)?;
    Ok(cache::remove(&folder.join(WORK))?)
}

/// Deletes the packages' sources that an import brought, and what sessions have compiled.
fn remove_packages(folder: &Path) -> Result<()> {
    cache::remove(&folder.join(PACKAGES))?;
    Ok(cache::remove(&folder.join(KEPT))?)
}

/// Writes the crate in `work` that depends on `taper` alone.
pub(crate) fn write_crate(work: &Path, taper: &Path, features: &[String]) -> Result<()> {
    cache::make(&work.join("src"))?;
    let manifest = MANIFEST.to_owned() + &workspace::dependency(taper, features) + "\n\n";
    cache::write_atomically(&work.join("Cargo.toml"), manifest.as_bytes())?;
    Ok(cache::write_atomically(
        &work.join("src/lib.rs"),
        b"pub use taper::prelude::*;\n",
    )?)
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

/// Runs a cell in the work directory, in another process. This compiles what every session needs.
pub(super) fn warm(
    taper: &Path,
    features: &[String],
    work: &Path,
    progress: &dyn Progress,
) -> Result<()> {
    let log = work.with_file_name("first-cell.log");
    let mut child = process::supervised(process::program()?)?
        .arg(WARM_ARGUMENT)
        .args([work, taper])
        .args(features)
        .env(RUSTC_VARIABLE, &toolchain::get()?.rustc)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log).on_file("create", &log)?)
        .spawn()
        .trying("start the first cell")?;
    if !cargo::wait(&mut child, progress)?.success() {
        let said = std::fs::read(&log).on_file("read", &log)?;
        return Err(Error::FirstCell {
            tested: checks::tested()?,
            said: String::from_utf8_lossy(&said).into_owned(),
        });
    }
    Ok(())
}
