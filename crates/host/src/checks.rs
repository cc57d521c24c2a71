//! What must be there before something long begins; each error says what to do.

use crate::cache;
use crate::lock::Lock;
use crate::progress::Progress;
use crate::toolchain;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

pub const NO_C_COMPILER: &str = "No C compiler was found. Install one, then run the same command again: \
    `sudo apt install build-essential` (Debian, Ubuntu), `sudo dnf install gcc` (Fedora), \
    `xcode-select --install` (macOS).";

pub const NO_CPP_COMPILER: &str = "No C++ compiler was found, which CUDA's compiler needs. Install one, then run the \
    same command again: `sudo apt install g++` (Debian, Ubuntu), `sudo dnf install gcc-c++` (Fedora). With --cpu, \
    Taper does without the GPU.";

pub const OLD_COMPILER: &str =
    "This Rust is too old. Run `rustup update stable`, then the same command again.";

/// The oldest compiler that works, as major and minor version.
const MINIMUM: (u32, u32) = (1, 95);

/// How much an image needs, in bytes.
const DISK_NEEDED: u64 = 2 << 30;

/// All that an image needs which is then built in `folder`. An image that is `begun` needs less room.
pub fn before_building(folder: &Path, begun: bool) -> Result<()> {
    compiler()?;
    c_compiler()?;
    disk(folder, begun)
}

/// Rust is there and new enough.
pub fn compiler() -> Result<()> {
    let release = toolchain::release()?;
    if is_old(release) {
        bail!(
            "{OLD_COMPILER} (found {release}, needed {}.{})",
            MINIMUM.0,
            MINIMUM.1
        );
    }
    Ok(())
}

fn is_old(release: &str) -> bool {
    let mut numbers = release.split(['.', '-']).map(|n| n.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) < MINIMUM,
        _ => false,
    }
}

/// The source of Rust's own library, from which types and documentation are read.
pub fn rust_src() -> Result<PathBuf> {
    let library = toolchain::sysroot()?.join("lib/rustlib/src/rust/library");
    if !library.join("core").exists() {
        bail!("Rust's library source is not installed. Run `rustup component add rust-src`.");
    }
    Ok(library)
}

/// Installs it where it is missing.
pub fn add_rust_src(progress: &mut dyn Progress) -> Result<()> {
    if rust_src().is_ok() {
        return Ok(());
    }
    // Two at once would be in each other's way.
    let folder = cache::folder()?.join("rust-src");
    cache::make(&folder)?;
    let _lock = Lock::exclusive(&folder, progress)?;
    if rust_src().is_ok() {
        return Ok(());
    }
    progress.line("Installing the source of Rust's library (rustup component add rust-src).");
    let output = Command::new("rustup")
        .args(["component", "add", "rust-src"])
        .output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => bail!(
            "Rust's library source could not be installed. Run `rustup component add rust-src` yourself; it said:\n{}",
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(_) => bail!(
            "Rust's library source is missing and there is no rustup. Install your system's package for it \
             (`rust-src`), or Rust itself from https://rustup.rs."
        ),
    }
}

/// A C compiler, which also links Rust's programs.
pub fn c_compiler() -> Result<String> {
    let name = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let output = Command::new(&name).arg("--version").output();
    match output {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            Ok(text.lines().next().unwrap_or_default().to_owned())
        }
        _ => bail!("{NO_C_COMPILER}"),
    }
}

/// A C++ compiler, without which CUDA's cannot read its own headers.
pub fn cpp_compiler() -> Result<()> {
    let output = Command::new("g++").arg("--version").output();
    if output.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    bail!("{NO_CPP_COMPILER}")
}

/// Room for what will be compiled into `folder`, where some of it may lie already.
pub fn disk(folder: &Path, begun: bool) -> Result<()> {
    let free = free_bytes(folder)?;
    if free < if begun { DISK_NEEDED / 4 } else { DISK_NEEDED } {
        bail!(
            "The disk is nearly full: {:.1} GB are free in {}, about {:.0} GB are needed. \
             Free some space, or set TAPER_CACHE to a folder on another disk.",
            free as f64 / 1e9,
            folder.display(),
            DISK_NEEDED as f64 / 1e9
        );
    }
    Ok(())
}

fn free_bytes(folder: &Path) -> Result<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: all-zero is a valid value, and the call fills it.
    let mut info: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers live through the call.
    if unsafe { libc::statvfs(path.as_ptr(), &mut info) } != 0 {
        return Err(std::io::Error::last_os_error())
            .with_context(|| format!("asking about {}", folder.display()));
    }
    Ok(info.f_bavail as u64 * info.f_frsize as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(is_old("1.94.1"));
        assert!(is_old("1.9.0"));
        assert!(!is_old("1.95.0"));
        assert!(!is_old("1.100.0-nightly"));
        assert!(!is_old("unknown"));
    }
}
