//! The variables of a session's processes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use taper_host::toolchain::RUSTC_VARIABLE;

/// Where cargo's home really is, while `CARGO_HOME` leads to the session.
pub(crate) const HOME_VARIABLE: &str = "TAPER_CARGO_HOME";
/// Names the session's folder to the processes that stand in for its tools.
pub(crate) const SESSION_VARIABLE: &str = "TAPER_SESSION";
/// `PATH` without the session's programs.
pub(crate) const PATH_VARIABLE: &str = "TAPER_PATH";
/// Names cargo to the processes of a session, as [`RUSTC_VARIABLE`] names rustc.
pub(crate) const CARGO_VARIABLE: &str = "TAPER_CARGO";

/// The cargo's home with which a store is filled, in the store.
pub const STORED: &str = "cargo";

/// The folder that takes the place of cargo's home, beside the work directory.
pub(crate) const CARGO_HOME: &str = "cargo-home";

/// The variables that belong to a session's folder.
pub(crate) const VARIABLES: [&str; 6] = [
    "RUST_SRC_PATH",
    "CARGO_HOME",
    HOME_VARIABLE,
    SESSION_VARIABLE,
    RUSTC_VARIABLE,
    CARGO_VARIABLE,
];

/// Where the links to this program are.
pub(crate) fn programs(session: &Path) -> PathBuf {
    session.join(CARGO_HOME).join("bin")
}

/// The folder of the session to which this process belongs.
pub(crate) fn session() -> Option<PathBuf> {
    std::env::var_os(SESSION_VARIABLE).map(PathBuf::from)
}

/// This program under one of the names that it has in a session's folder.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    Some(programs(&session()?).join(name))
}

/// Where the packages' sources are that an image was compiled from: in the store, or in cargo's home.
pub(crate) fn packages() -> Option<PathBuf> {
    let stored = taper_host::store::folder().map(|store| store.join(STORED));
    stored.filter(|home| home.exists()).or_else(cargo_home)
}

/// The real home of cargo.
pub fn cargo_home() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|path: &OsString| !path.is_empty());
    let named = named(HOME_VARIABLE).or_else(|| named("CARGO_HOME"));
    named
        .map(PathBuf::from)
        .or_else(|| Some(dirs::home_dir()?.join(".cargo")))
}
