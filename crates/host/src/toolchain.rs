//! The Rust on the PATH. It is asked once per process: each question costs a tenth of a second.

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// `rustc -vV`: version, commit and host.
pub fn version() -> Result<&'static str> {
    static VERSION: OnceLock<String> = OnceLock::new();
    once(&VERSION, || ask(&["-vV"]))
}

/// Its release, such as `1.95.0`.
pub fn release() -> Result<&'static str> {
    line("release: ")
}

/// The platform that it compiles for when not told otherwise.
pub fn host() -> Result<&'static str> {
    line("host: ")
}

fn line(begin: &'static str) -> Result<&'static str> {
    let found = version()?.lines().find_map(|line| line.strip_prefix(begin));
    found.ok_or(Error::NoVersionLine(begin))
}

/// The folder in which it is installed.
pub fn sysroot() -> Result<&'static Path> {
    static SYSROOT: OnceLock<String> = OnceLock::new();
    let folder = once(&SYSROOT, || ask(&["--print", "sysroot"]))?;
    Ok(Path::new(folder.trim()))
}

/// The folder with Rust's library as a shared one.
pub fn library_folder() -> Result<PathBuf> {
    Ok(sysroot()?.join("lib/rustlib").join(host()?).join("lib"))
}

fn once(
    place: &'static OnceLock<String>,
    find: impl FnOnce() -> Result<String>,
) -> Result<&'static str> {
    if let Some(found) = place.get() {
        return Ok(found);
    }
    let found = find()?;
    Ok(place.get_or_init(|| found))
}

fn ask(arguments: &[&str]) -> Result<String> {
    let output = Command::new("rustc")
        .args(arguments)
        .output()
        .map_err(Error::NoCompiler)?;
    if !output.status.success() {
        return Err(Error::Failed {
            command: format!("rustc {}", arguments.join(" ")),
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
