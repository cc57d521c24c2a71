//! What evcxr and rust-analyzer find in place of cargo, rustup and the source of Rust's library.
//!
//! Both are made for projects: evcxr lets cargo look at 150 packages for each cell, of which none
//! has changed; rust-analyzer reads every source that cargo names, and all of Rust's library: 27
//! MB, of which 16 are the intrinsics of processors, and packages of which a cell can name the
//! types of four. That was most of a start, of a kernel's memory and of a small cell. So they are
//! shown less, through the places where they look:
//!
//! - `$RUST_SRC_PATH` is a folder with links to `core`, `alloc` and `std` ([`library`]);
//! - `$CARGO_HOME/bin/cargo`, which rust-analyzer prefers to every other, is this very program under
//!   the name of cargo ([`cargo`]). It leaves packages out of what `cargo metadata` says
//!   ([`metadata`]), and compiles a cell without cargo where nothing but the cell is new ([`cell`]);
//! - `rustup`, first on the `$PATH`, is this program too, and tells evcxr of that cargo.
//!
//! And before each call of cargo it keeps the versions that the image has ([`versions`]).
//!
//! Whatever must be right rather than quick is passed on to the real ones.

pub mod cargo;
mod cell;
mod library;
mod metadata;
mod versions;

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use taper_host::cache;

pub use library::show as show_library;

/// Where cargo's home is in truth, while `CARGO_HOME` leads to us.
const HOME_VARIABLE: &str = "TAPER_CARGO_HOME";
/// `PATH` without us.
const PATH_VARIABLE: &str = "TAPER_PATH";
/// Lies beside the work directory.
const CARGO_HOME: &str = "cargo-home";

/// The variables that belong to a session's folder.
pub const VARIABLES: [&str; 3] = ["RUST_SRC_PATH", "CARGO_HOME", HOME_VARIABLE];

/// Makes what [`enter`] leads to, in the folder in which the work directory lies.
pub fn prepare(folder: &Path) -> Result<()> {
    library::prepare(folder)?;
    let bin = folder.join(CARGO_HOME).join("bin");
    cache::make(&bin)?;
    let program = std::env::current_exe()?;
    link(&bin, "cargo", &program)?;
    link(&bin, "rustup", &program)
}

/// Leads evcxr and rust-analyzer to what [`prepare`] made.
///
/// # Safety
/// No other thread may read or write the environment.
pub unsafe fn enter(folder: &Path) {
    // The first cell of a new image is run by a process of one that has entered a session's folder.
    let real = std::env::var_os(PATH_VARIABLE).or_else(|| std::env::var_os("PATH"));
    let path = real.unwrap_or_default();
    let bin = folder.join(CARGO_HOME).join("bin");
    let first = std::iter::once(bin).chain(std::env::split_paths(&path));
    // SAFETY: promised by the caller.
    unsafe {
        std::env::set_var("RUST_SRC_PATH", folder.join(library::LINK));
        if let (Some(home), Ok(with_us)) = (cargo_home(), std::env::join_paths(first)) {
            std::env::set_var(HOME_VARIABLE, home);
            std::env::set_var("CARGO_HOME", folder.join(CARGO_HOME));
            std::env::set_var(PATH_VARIABLE, &path);
            std::env::set_var("PATH", with_us);
        }
    }
}

/// Takes note that `PATH` was set anew, and does not lead to us any more; evcxr has found us by now.
///
/// # Safety
/// As for [`enter`].
pub unsafe fn path_is_real() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // SAFETY: promised by the caller.
    unsafe { std::env::set_var(PATH_VARIABLE, path) };
}

/// Undoes [`enter`] for a child process.
pub fn leave(command: &mut Command) {
    command.env_remove("RUST_SRC_PATH");
    for (ours, theirs) in [(HOME_VARIABLE, "CARGO_HOME"), (PATH_VARIABLE, "PATH")] {
        if let Some(value) = std::env::var_os(ours) {
            command.env_remove(ours).env(theirs, value);
        }
    }
}

/// The real home of cargo.
pub fn cargo_home() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|path: &OsString| !path.is_empty());
    let named = named(HOME_VARIABLE).or_else(|| named("CARGO_HOME"));
    named
        .map(PathBuf::from)
        .or_else(|| Some(dirs::home_dir()?.join(".cargo")))
}

/// Makes the link `name` or leads it elsewhere, in one step.
fn link(folder: &Path, name: &str, target: &Path) -> Result<()> {
    let new = folder.join(format!("new-{name}"));
    let _ = std::fs::remove_file(&new);
    std::os::unix::fs::symlink(target, &new)?;
    std::fs::rename(&new, folder.join(name))
        .with_context(|| format!("linking {name} in {}", folder.display()))
}
