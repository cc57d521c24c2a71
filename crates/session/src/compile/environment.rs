//! The variables that lead evcxr and rust-analyzer to what a session shows them.

use super::library::{self, link};
use super::recorder;
use super::tools::CARGO_VARIABLE;
use anyhow::Result;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use taper_host::cache;
use taper_host::toolchain::{self, RUSTC_VARIABLE};

/// Where cargo's home really is, while `CARGO_HOME` leads to the session.
pub const HOME_VARIABLE: &str = "TAPER_CARGO_HOME";
/// Names the session's folder to the processes that stand in for its tools.
const SESSION_VARIABLE: &str = "TAPER_SESSION";
/// `PATH` without the session's programs.
const PATH_VARIABLE: &str = "TAPER_PATH";
/// Lies beside the work directory.
const CARGO_HOME: &str = "cargo-home";

/// The variables that belong to a session's folder.
pub const VARIABLES: [&str; 4] = [
    "RUST_SRC_PATH",
    "CARGO_HOME",
    HOME_VARIABLE,
    SESSION_VARIABLE,
];

/// Makes what [`enter`] leads to, in the folder in which the work directory lies.
pub fn prepare(folder: &Path) -> Result<()> {
    library::prepare(folder)?;
    let bin = programs(folder);
    cache::make(&bin)?;
    let program = std::env::current_exe()?;
    for name in ["cargo", "rustup", recorder::NAME] {
        link(&bin, name, &program)?;
    }
    Ok(())
}

/// Where the links to this program are.
fn programs(folder: &Path) -> PathBuf {
    folder.join(CARGO_HOME).join("bin")
}

/// The folder of the session to which this process belongs.
pub fn session() -> Option<PathBuf> {
    std::env::var_os(SESSION_VARIABLE).map(PathBuf::from)
}

/// This program under one of the names that [`prepare`] gave it.
pub fn program(name: &str) -> Option<PathBuf> {
    Some(programs(&session()?).join(name))
}

/// Leads evcxr and rust-analyzer to what [`prepare`] made, and names the toolchain.
///
/// # Safety
/// No other thread may read or write the environment.
pub unsafe fn enter(folder: &Path) -> Result<()> {
    // The first cell of a new image is run by a process of one that has entered a session's folder.
    let path = std::env::var_os(PATH_VARIABLE).unwrap_or_else(toolchain::path);
    let first = std::iter::once(programs(folder)).chain(std::env::split_paths(&path));
    let with_us = std::env::join_paths(first)?;
    let found = toolchain::get()?;
    // SAFETY: promised by the caller.
    unsafe {
        std::env::set_var(RUSTC_VARIABLE, &found.rustc);
        std::env::set_var(CARGO_VARIABLE, &found.cargo);
        std::env::set_var(SESSION_VARIABLE, folder);
        std::env::set_var("RUST_SRC_PATH", folder.join(library::LINK));
        if let Some(home) = cargo_home() {
            std::env::set_var(HOME_VARIABLE, home);
            std::env::set_var("CARGO_HOME", folder.join(CARGO_HOME));
        }
        std::env::set_var(PATH_VARIABLE, &path);
        std::env::set_var("PATH", with_us);
    }
    Ok(())
}

/// Takes note that `PATH` was set anew and no longer leads to the session; evcxr has found us by now.
///
/// # Safety
/// As for [`enter`].
pub unsafe fn path_is_real() {
    let path = toolchain::path();
    // SAFETY: promised by the caller.
    unsafe { std::env::set_var(PATH_VARIABLE, path) };
}

/// Undoes [`enter`] for a child process.
pub fn leave(command: &mut Command) {
    command
        .env_remove("RUST_SRC_PATH")
        .env_remove(SESSION_VARIABLE);
    for (ours, theirs) in [(HOME_VARIABLE, "CARGO_HOME"), (PATH_VARIABLE, "PATH")] {
        if let Some(value) = std::env::var_os(ours) {
            command.env_remove(ours).env(theirs, value);
        }
    }
}

/// [`leave`], for a command of the user's: it finds the session's toolchain first.
pub fn leave_with_toolchain(command: &mut Command) {
    leave(command);
    let path = std::env::var_os(PATH_VARIABLE).unwrap_or_else(toolchain::path);
    let rustc = std::env::var_os(RUSTC_VARIABLE).map(PathBuf::from);
    let tools = rustc.and_then(|rustc| Some(rustc.parent()?.to_owned()));
    let folders = tools.into_iter().chain(std::env::split_paths(&path));
    if let Ok(path) = std::env::join_paths(folders) {
        command.env("PATH", path);
    }
    command
        .env_remove(RUSTC_VARIABLE)
        .env_remove(CARGO_VARIABLE);
}

/// The real home of cargo.
pub fn cargo_home() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|path: &OsString| !path.is_empty());
    let named = named(HOME_VARIABLE).or_else(|| named("CARGO_HOME"));
    named
        .map(PathBuf::from)
        .or_else(|| Some(dirs::home_dir()?.join(".cargo")))
}
