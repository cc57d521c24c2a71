//! With what the session's cells are compiled and run.

use super::super::interface::Start;
use crate::cells;
use crate::image;
use crate::image::artifacts::{Artifacts, shared_library};
use anyhow::Result;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use taper_engine::{Config, Package};
use taper_host::{cache, toolchain};

/// The function of `taper` that shows the error of a `?`.
const QUESTION_MARK: &str = "::taper::notebook::failure::failed";

/// The types of `taper` whose values do not change once they are made.
const IMMUTABLE: [&str; 4] = ["DType", "Device", "Shape", "Tensor"];

/// The folder of compiled cells in Taper's cache.
const CACHE: &str = "cells";

/// Returns the configuration for cells without packages.
pub(super) fn of(work: &Path) -> Result<Config> {
    let found = toolchain::get()?;
    let target = toolchain::host()?;
    let session = work.parent().unwrap_or(work);
    let flags = ["--edition=2024", "-Cstrip=debuginfo"].map(OsString::from);
    Ok(Config {
        rustc: found.sysroot.join("bin/rustc"),
        sysroot: found.sysroot.clone(),
        target: target.to_owned(),
        flags: flags.into(),
        search: Vec::new(),
        environment: Vec::new(),
        packages: Vec::new(),
        folder: session.join("cells"),
        shared: work.join(image::SUPPORT),
        cache: cache::folder().ok().map(|cache| cache.join(CACHE)),
        libraries: None,
        program: taper_host::process::program()?,
        cell_environment: environment(),
        immutable_types: IMMUTABLE.map(str::to_owned).to_vec(),
    })
}

/// Returns the package `taper` of the image in `work`, and where rustc finds what it uses.
pub(super) fn of_image(work: &Path) -> Result<(Vec<Package>, Vec<OsString>)> {
    let compiled = Artifacts::read(work)?;
    let taper = vec![("taper".to_owned(), compiled.taper(work)?)];
    Ok((packages(taper, None), compiled.search(work)))
}

/// Writes the manifest to which `:dep` adds packages, if the image has none.
pub(super) fn write_manifest(start: &Start) -> Result<()> {
    image::write_crate(start.work, &start.taper, &start.features)
}

/// Returns packages with these compiled files. Only `taper` is a shared library already. `tokio` are the features of the
/// package of this name.
pub(super) fn packages(
    found: Vec<(String, Vec<PathBuf>)>,
    tokio: Option<&BTreeSet<String>>,
) -> Vec<Package> {
    let package = |(name, files): (String, Vec<PathBuf>)| Package {
        library: shared_library(&files).filter(|_| name == "taper").cloned(),
        question_mark: (name == "taper").then(|| QUESTION_MARK.to_owned()),
        runtime: tokio.filter(|_| name == "tokio").and_then(runtime),
        name,
        files,
    };
    found.into_iter().map(package).collect()
}

/// Returns the source of a runtime of `tokio` with these features, if it has one.
fn runtime(features: &BTreeSet<String>) -> Option<String> {
    let kind = match features {
        it if it.contains("rt-multi-thread") => "new_multi_thread",
        it if it.contains("rt") => "new_current_thread",
        _ => return None,
    };
    Some(format!(
        "::tokio::runtime::Builder::{kind}().enable_all().build().expect(\"the runtime of tokio starts\")"
    ))
}

/// Returns the changes of this process's environment for the process that runs the cells.
pub(super) fn environment() -> Vec<(OsString, Option<OsString>)> {
    // The program does not matter.
    let mut command = Command::new("cells");
    cells::prepare(&mut command);
    let changes = command.get_envs();
    changes
        .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
        .collect()
}
