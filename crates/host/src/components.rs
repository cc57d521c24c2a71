//! Components of Rust that completion and documentation need: the source of the standard library, and rust-analyzer, which
//! reads it.

use crate::cache;
use crate::error::OnFile as _;
use crate::lock::Lock;
use crate::progress::Progress;
use crate::toolchain;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

const NO_LIBRARY_SOURCE: &str = "Rust's library source is missing, and this Rust was not installed by rustup. Install the package \
    `rust-src` (`sudo apt install rust-src`, `conda install -c conda-forge rust-src`), or Rust itself \
    from https://rustup.rs.";

/// Returns the folder with the crates `core`, `alloc` and `std` of this toolchain.
pub fn library_source() -> Result<PathBuf> {
    let release = toolchain::release()?;
    find_in(toolchain::sysroot()?, release, Path::new("/usr/src"))
        .context("Rust's library source is not installed. Run `taper setup`, which installs it.")
}

/// Returns the folder with the library's crates. rustup and conda install the source in the toolchain, Debian in
/// `system`, possibly for several releases.
fn find_in(sysroot: &Path, release: &str, system: &Path) -> Option<PathBuf> {
    let of_release = format!("rustc-{release}");
    let entries = std::fs::read_dir(system).into_iter().flatten().flatten();
    let packaged = entries.filter(|entry| {
        let name = entry.file_name();
        let rest = name
            .to_str()
            .and_then(|name| name.strip_prefix(&of_release));
        // After the release: nothing, or Debian's revision.
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    std::iter::once(sysroot.join("lib/rustlib/src/rust"))
        .chain(packaged.map(|entry| entry.path()))
        .map(|source| source.join("library"))
        .find(|library| library.join("core/src").exists())
}

/// Installs the source with rustup if it is missing.
pub fn add_library_source(progress: &mut dyn Progress) -> Result<()> {
    // First the toolchain: without it, an error about the source would mislead.
    toolchain::get()?;
    let is_there = || library_source().is_ok();
    add_component("rust-src", is_there, NO_LIBRARY_SOURCE, progress)
}

/// Installs rust-analyzer with rustup if it is missing. Where that fails, a message says so: cells run without it.
pub fn add_analyzer(progress: &mut dyn Progress) {
    let is_there = || toolchain::analyzer().is_ok();
    let without_rustup = toolchain::NO_ANALYZER;
    if let Err(error) = add_component("rust-analyzer", is_there, without_rustup, progress) {
        progress.line(&error.to_string());
    }
}

/// Installs a component with rustup unless it `is_there`; `without_rustup` is the message where there is no rustup.
fn add_component(
    name: &str,
    is_there: impl Fn() -> bool,
    without_rustup: &'static str,
    progress: &mut dyn Progress,
) -> Result<()> {
    if is_there() {
        return Ok(());
    }
    // Two rustups at the same time would disturb each other.
    let folder = cache::folder()?.join("components");
    cache::make(&folder)?;
    let _lock = Lock::exclusive(&folder, progress)?;
    if is_there() {
        return Ok(());
    }
    let rustup = toolchain::rustup().context(without_rustup)?;
    let mut arguments = vec!["component", "add", name];
    if let Some(toolchain) = toolchain::get()?.rustup_name() {
        arguments.extend(["--toolchain", toolchain]);
    }
    let command = format!("rustup {}", arguments.join(" "));
    progress.line(&format!("Installing Rust's component {name} ({command})."));
    let mut call = Command::new(&rustup);
    Lock::pass_on(call.args(&arguments));
    let output = call.output().on_file("start", rustup)?;
    if !output.status.success() {
        let printed = String::from_utf8_lossy(&output.stderr);
        bail!(
            "Rust's component {name} could not be installed. Run `{command}` yourself; it said:\n{printed}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_where_rustup_conda_and_debian_put_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let (sysroot, system) = (folder.path().join("rust"), folder.path().join("src"));
        let found = || find_in(&sysroot, "1.95.0", &system);
        let add = |library: PathBuf| {
            std::fs::create_dir_all(library.join("core/src")).expect("a folder");
            library
        };
        assert_eq!(found(), None);
        // Of other releases.
        add(system.join("rustc-1.85.0/library"));
        add(system.join("rustc-1.95.01/library"));
        assert_eq!(found(), None);
        let from_debian = add(system.join("rustc-1.95.0+dfsg1/library"));
        assert_eq!(found(), Some(from_debian));
        let rustups = add(sysroot.join("lib/rustlib/src/rust/library"));
        assert_eq!(found(), Some(rustups));
    }
}
