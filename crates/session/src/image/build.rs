//! Builds an image: compiles `taper` and its dependencies, and runs a first cell.

use super::cargo;
use super::key::Key;
use super::layout::WORK;
use super::manifest::Manifest;
use super::origin;
use crate::compile;
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

/// The first argument with which this program runs the first cell of a new image.
pub(crate) const WARM_ARGUMENT: &str = "__warm";

/// The manifest that evcxr writes, up to the dependencies. It must be equal to the byte, as must
/// [`CONFIGURATION`]: then a session finds the image's answers of cargo about this crate.
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

/// Cargo's configuration, as evcxr writes it.
const CONFIGURATION: &str = "\n[net]\noffline = false\n";

/// Builds the image in `folder`, and continues where an earlier build stopped.
pub(crate) fn build(key: &Key, folder: &Path, progress: &mut dyn Progress) -> Result<()> {
    checks::before_building(folder, has_begun(folder))?;
    library_source::add(progress)?;
    let start = Instant::now();
    Manifest::remove(folder)?;
    origin::write(key, folder)?;
    prepare(key, folder)?;
    let work = folder.join(WORK);
    forget_answers(&work)?;
    cache::remove(&folder.join(compile::PACKAGES))?;
    progress.line("Compiling Taper and its dependencies (once; later starts take seconds).");
    cargo::compile(&work, false, &mut |_| (), progress)?;
    progress.line("Running a first cell.");
    warm(key, &work, progress)?;
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
    cache::remove(&folder.join(compile::PACKAGES))?;
    Ok(cache::remove(&folder.join(WORK))?)
}

/// Writes the crate in `work` that depends on `taper` alone.
pub(crate) fn write_crate(work: &Path, taper: &Path, features: &[String]) -> Result<()> {
    for folder in ["src", ".cargo"] {
        cache::make(&work.join(folder))?;
    }
    let manifest = MANIFEST.to_owned() + &workspace::dependency(taper, features) + "\n\n";
    cache::write_atomically(&work.join("Cargo.toml"), manifest.as_bytes())?;
    cache::write_atomically(&work.join(".cargo/config.toml"), CONFIGURATION.as_bytes())?;
    Ok(cache::write_atomically(
        &work.join("src/lib.rs"),
        b"pub use taper::prelude::*;\n",
    )?)
}

/// Writes the same crate as evcxr does when a session loads `taper`.
fn prepare(key: &Key, folder: &Path) -> Result<()> {
    let work = folder.join(WORK);
    cache::make(&work)?;
    workspace::prepare(folder)?;
    write_crate(&work, &key.taper, &key.features)?;
    // The locked versions; cargo removes from the copy what this crate does not need.
    let lock = key.taper.join("Cargo.lock");
    std::fs::copy(&lock, work.join("Cargo.lock")).on_file("copy", &lock)?;
    Ok(())
}

/// Removes the kept answers, among them cells that were compiled with the library `taper` that is now
/// replaced.
fn forget_answers(work: &Path) -> Result<()> {
    Ok(cache::remove(&work.join(compile::ANSWERS))?)
}

/// Runs a cell with evcxr in the work directory. This compiles what is still missing, and keeps what
/// every session needs. evcxr needs other environment variables, so the cell runs in another process.
fn warm(key: &Key, work: &Path, progress: &dyn Progress) -> Result<()> {
    let log = work.with_file_name("first-cell.log");
    let mut child = process::supervised(process::program()?)?
        .arg(WARM_ARGUMENT)
        .args([work, &key.taper])
        .args(&key.features)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log).on_file("create", &log)?)
        .spawn()
        .map_err(Error::system("start the first cell"))?;
    if !cargo::wait(&mut child, progress)?.success() {
        let said = std::fs::read(&log).on_file("read", &log)?;
        return Err(Error::FirstCell(
            String::from_utf8_lossy(&said).into_owned(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_build_does_not_use_cells_of_the_last_library() {
        let work = tempfile::tempdir().expect("a temporary folder");
        let answers = work.path().join(compile::ANSWERS);
        std::fs::create_dir(&answers).expect("a folder");
        std::fs::write(answers.join("a.cell"), "old").expect("a file");
        for _ in 0..2 {
            forget_answers(work.path()).expect("it is removed, or was");
            assert!(!answers.exists());
        }
    }
}
