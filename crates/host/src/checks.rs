//! Checks that everything a long step needs is available, before the step begins.

use crate::error::{Context, Error, Result};
use crate::toolchain;
use crate::version::{self, Version};
use std::path::Path;
use std::process::Command;

pub use crate::error::NO_C_COMPILER;

/// The oldest version of Rust that compiles Taper.
const OLDEST_COMPILER: Version = (1, 95);

/// The free space in bytes that building an image needs.
const DISK_NEEDED: u64 = 2 << 30;

/// Checks for everything that building an image in `folder` needs. If the build has `begun` earlier, it needs
/// less space.
pub fn before_building(folder: &Path, begun: bool) -> Result<()> {
    compiler()?;
    c_compiler()?;
    disk(folder, begun)
}

/// Checks that Rust is installed and new enough.
pub fn compiler() -> Result<()> {
    let release = toolchain::release()?;
    match version::parse(release).is_some_and(|release| release < OLDEST_COMPILER) {
        true => Err(Error::OldCompiler {
            found: release.to_owned(),
            needed: OLDEST_COMPILER,
            next: toolchain::get()?.how_to_replace(),
        }),
        false => Ok(()),
    }
}

/// Returns the first line that the C compiler prints with `--version`. Rust links programs with the C compiler.
pub fn c_compiler() -> Result<String> {
    let version = version_of(&c_compiler_program()).ok_or(Error::NoCCompiler)?;
    Ok(version.lines().next().unwrap_or_default().to_owned())
}

/// Returns the name of the C compiler: the variable `CC`, else `cc`.
pub(crate) fn c_compiler_program() -> String {
    std::env::var("CC").unwrap_or_else(|_| "cc".to_owned())
}

/// Checks for a C++ compiler, without which CUDA's compiler cannot read its own headers.
pub(crate) fn cpp_compiler() -> Result<()> {
    version_of("g++").map(drop).ok_or(Error::NoCppCompiler)
}

fn version_of(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}

/// Checks that the disk has space to build an image in `folder`; `begun` means that a part of the image exists.
pub fn disk(folder: &Path, begun: bool) -> Result<()> {
    let info = rustix::fs::statvfs(folder).map_err(std::io::Error::from);
    let info = info.on_file("read the free space of", folder)?;
    let free = info.f_bavail * info.f_frsize;
    if free < if begun { DISK_NEEDED / 4 } else { DISK_NEEDED } {
        return Err(Error::DiskNearlyFull {
            folder: folder.to_owned(),
            free,
            needed: DISK_NEEDED,
        });
    }
    Ok(())
}
