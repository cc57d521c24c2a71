//! Leads evcxr and rust-analyzer to a session's replacements of the Rust tools and of the standard
//! library's source.

use super::library::{self, link};
use super::recorder;
use super::variables::{
    CARGO_HOME, CARGO_VARIABLE, HOME_VARIABLE, PATH_VARIABLE, SESSION_VARIABLE, cargo_home,
    programs,
};
use crate::error::{Error, Result};
use std::path::Path;
use taper_host::cache;
use taper_host::toolchain::{self, RUSTC_VARIABLE};

/// Creates the links to which [`enter`] leads, in the folder that contains the work directory.
pub(crate) fn prepare(folder: &Path) -> Result<()> {
    library::prepare(folder)?;
    let bin = programs(folder);
    cache::make(&bin)?;
    let program = std::env::current_exe().map_err(Error::system("find this program"))?;
    for name in ["cargo", "rustc", "rustup", recorder::NAME] {
        link(&bin, name, &program)?;
    }
    Ok(())
}

/// Sets the variables that lead evcxr and rust-analyzer to the links of [`prepare`], and those that name
/// the toolchain.
///
/// # Safety
/// No other thread may read or write the environment.
pub(crate) unsafe fn enter(folder: &Path) -> Result<()> {
    // The first cell of a new image is run by a process whose parent has entered a session's folder.
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
            cache::unicode("cargo's home", &home, "Name another one with CARGO_HOME.")?;
            std::env::set_var(HOME_VARIABLE, home);
            std::env::set_var("CARGO_HOME", folder.join(CARGO_HOME));
        }
        std::env::set_var(PATH_VARIABLE, &path);
        std::env::set_var("PATH", with_us);
    }
    Ok(())
}
