//! The documentation of the crate `taper`, which rustdoc writes once per version of its sources.

use crate::api::Api;
use crate::paths::copy_tree;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;
use taper_host::cache;
use taper_host::checkout;
use taper_host::lock::Lock;
use taper_host::progress::{Progress, duration};
use taper_host::toolchain;

/// The file with the addresses of all names. It is written when the documentation is complete.
const INDEX: &str = "taper-names.json";

/// Documents the crate `taper` with rustdoc, unless that was done for this version of its `sources`.
///
/// # Errors
///
/// When cargo fails, or when the cache cannot be written.
pub fn document(sources: String, progress: &mut dyn Progress) -> Result<()> {
    let folder = folder()?;
    let is_current = || find().is_some_and(|api| api.sources == sources);
    if is_current() {
        return Ok(());
    }
    let parent = folder.with_file_name("");
    cache::make(&parent)?;
    let _lock = Lock::exclusive(&parent, progress)?;
    // Another build may have documented it while this one waited for the lock.
    if is_current() {
        return Ok(());
    }
    progress.line("Documenting the crate taper (cargo doc).");
    let start = Instant::now();
    let new = rustdoc()?;
    let index = Api::read(&new, sources)?;
    let file = new.join(INDEX);
    let written = fs::write(&file, serde_json::to_vec(&index)?);
    written.with_context(|| format!("writing {}", file.display()))?;
    replace(&new, &folder)?;
    progress.line(&format!("Documented in {}.", duration(start.elapsed())));
    Ok(())
}

/// Returns the folder of the documentation, in the cache.
pub(crate) fn folder() -> Result<PathBuf> {
    Ok(cache::folder()?.join("book").join("api"))
}

/// Returns the names of the documentation in the cache, if it is complete.
pub(crate) fn find() -> Option<Api> {
    let index = fs::read(folder().ok()?.join(INDEX)).ok()?;
    serde_json::from_slice(&index).ok()
}

/// Runs `cargo doc`; returns the folder of its pages. The folder is emptied first: the pages of other
/// packages, among them the program of the same name, are not part of the book.
fn rustdoc() -> Result<PathBuf> {
    let root = checkout::folder()?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let pages = target.join("doc");
    remove(&pages)?;
    let toolchain = toolchain::get()?;
    let mut cargo = toolchain.command(&toolchain.cargo);
    cargo
        .args(["doc", "--quiet", "--locked", "--package", "taper", "--lib"])
        .args(["--no-deps", "--target-dir"])
        .arg(&target)
        .current_dir(&root)
        .env_remove("RUSTDOCFLAGS");
    let output = cargo.output().context("starting cargo")?;
    if !output.status.success() {
        let printed = String::from_utf8_lossy(&output.stderr);
        bail!(
            "The crate's documentation could not be built; `cargo doc --package taper` printed:\n{printed}"
        );
    }
    Ok(pages)
}

/// Moves the folder `new` to `old`; copies it if the two are on different file systems.
fn replace(new: &Path, old: &Path) -> Result<()> {
    remove(old)?;
    if fs::rename(new, old).is_ok() {
        return Ok(());
    }
    copy_tree(new, old, &|path| !path.ends_with(INDEX))?;
    // The index comes last: with it, the documentation is complete.
    let index = old.join(INDEX);
    fs::copy(new.join(INDEX), &index).with_context(|| format!("writing {}", index.display()))?;
    remove(new)
}

fn remove(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))
}
