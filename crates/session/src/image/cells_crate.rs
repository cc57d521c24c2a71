//! The crate to which cells belong, and its first cell.

use super::cargo;
use crate::workspace;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use taper_host::error::OnFile as _;
use taper_host::progress::Progress;
use taper_host::toolchain::{self, RUSTC_VARIABLE};
use taper_host::{cache, checks, process};

/// The first argument with which this program runs the first cell of a new image.
pub(crate) const WARM_ARGUMENT: &str = "__warm";
/// The first argument with which this program tries what cells do with this Rust.
pub(crate) const TRY_ARGUMENT: &str = "__try";

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

/// Writes the crate in `work` that depends on `taper` alone.
pub(crate) fn write_crate(work: &Path, taper: &Path, features: &[String]) -> Result<()> {
    cache::make(&work.join("src"))?;
    let manifest = MANIFEST.to_owned() + &workspace::dependency(taper, features) + "\n\n";
    cache::write_atomically(&work.join("Cargo.toml"), manifest.as_bytes())?;
    cache::write_atomically(&work.join("src/lib.rs"), b"pub use taper::prelude::*;\n")
}

/// Runs a cell in the work directory, in another process, or tries more, as the argument says. This compiles what every
/// session needs. Returns what that process has printed.
pub(super) fn run_first(
    argument: &str,
    taper: &Path,
    features: &[String],
    work: &Path,
    progress: &dyn Progress,
) -> Result<String> {
    let log = work.with_file_name("first-cell.log");
    let mut child = process::supervised(process::program()?)?
        .arg(argument)
        .args([work, taper])
        .args(features)
        .env(RUSTC_VARIABLE, &toolchain::get()?.rustc)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log).on_file("create", &log)?)
        .spawn()
        .context("cannot start the first cell")?;
    let is_run = cargo::wait(&mut child, progress)?.success();
    let said = std::fs::read(&log).on_file("read", &log)?;
    let said = String::from_utf8_lossy(&said).into_owned();
    if !is_run {
        let advice = match cargo::advice_for_full_disk(&said) {
            Some(advice) => advice.to_owned(),
            None => checks::tested()?,
        };
        bail!("the first cell failed. {advice}\n{said}");
    }
    Ok(said)
}
