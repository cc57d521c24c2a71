//! What rust-analyzer gets to see of the packages below a session's cells.
//!
//! evcxr asks rust-analyzer for the type of each variable, and rust-analyzer reads every source
//! that cargo names and all of Rust's library: 27 MB, of which 16 are the intrinsics of processors,
//! and 130 packages, of which a cell can name the types of four. That makes most of a start and of
//! a kernel's memory. So it is shown less, through the two places where it looks:
//!
//! - `$RUST_SRC_PATH` is a folder with links to `core`, `alloc` and `std` ([`library`]);
//! - `$CARGO_HOME/bin/cargo`, which it prefers to every other, is this very program under the name
//!   of cargo: it passes calls on and leaves packages out of what `cargo metadata` says ([`cargo`]).
//!
//! What compiles cells is the real cargo with the real home.

pub mod cargo;
mod library;
mod metadata;

use crate::cache;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use library::show as show_library;

/// Where cargo's home is in truth, while `CARGO_HOME` leads rust-analyzer to us.
const HOME_VARIABLE: &str = "TAPER_CARGO_HOME";
/// The variables that [`enter`] sets.
pub const VARIABLES: [&str; 3] = ["RUST_SRC_PATH", "CARGO_HOME", HOME_VARIABLE];
/// Lies beside the work directory.
const CARGO_HOME: &str = "cargo-home";

/// Makes what [`enter`] leads to, in the folder in which the work directory lies.
pub fn prepare(folder: &Path) -> Result<()> {
    library::prepare(folder)?;
    let bin = folder.join(CARGO_HOME).join("bin");
    cache::make(&bin)?;
    link(&bin, "cargo", &std::env::current_exe()?)
}

/// Leads rust-analyzer to what [`prepare`] made.
///
/// # Safety
/// No other thread may read or write the environment.
pub unsafe fn enter(folder: &Path) {
    // SAFETY: promised by the caller.
    unsafe {
        std::env::set_var("RUST_SRC_PATH", folder.join(library::LINK));
        if let Some(home) = cargo_home() {
            std::env::set_var(HOME_VARIABLE, home);
            std::env::set_var("CARGO_HOME", folder.join(CARGO_HOME));
        }
    }
}

/// Undoes [`enter`] for a child process.
pub fn leave(command: &mut Command) {
    command.env_remove("RUST_SRC_PATH");
    if let Some(home) = std::env::var_os(HOME_VARIABLE) {
        command.env_remove(HOME_VARIABLE).env("CARGO_HOME", home);
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
