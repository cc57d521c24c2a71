//! The variables of a session's processes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use taper_host::toolchain::RUSTC_VARIABLE;

/// The variable with the path of cargo's real home, while `CARGO_HOME` leads to the session.
pub(crate) const HOME_VARIABLE: &str = "TAPER_CARGO_HOME";
/// The variable with the session's folder, for the processes that replace its tools.
pub(crate) const SESSION_VARIABLE: &str = "TAPER_SESSION";
/// The variable with the value of `PATH` without the session's programs.
pub(crate) const PATH_VARIABLE: &str = "TAPER_PATH";
/// The variable with the path of cargo for the processes of a session, as [`RUSTC_VARIABLE`] is for
/// rustc.
pub(crate) const CARGO_VARIABLE: &str = "TAPER_CARGO";

/// The folder in a store that is cargo's home while the store is filled.
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

/// Returns the folder of the links to this program.
pub(crate) fn programs(session: &Path) -> PathBuf {
    session.join(CARGO_HOME).join("bin")
}

/// Returns the folder of the session to which this process belongs.
pub(crate) fn session() -> Option<PathBuf> {
    std::env::var_os(SESSION_VARIABLE).map(PathBuf::from)
}

/// Returns the path of this program under a name that it has in the session's folder.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    Some(programs(&session()?).join(name))
}

/// Returns the folder with the sources of an image's packages: cargo's home in the store, or else the
/// user's.
pub(crate) fn packages() -> Option<PathBuf> {
    let stored = taper_host::store::folder().map(|store| store.join(STORED));
    stored.filter(|home| home.exists()).or_else(cargo_home)
}

/// Returns cargo's real home, of the user and not of the session.
pub fn cargo_home() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|path: &OsString| !path.is_empty());
    let named = named(HOME_VARIABLE).or_else(|| named("CARGO_HOME"));
    named
        .map(PathBuf::from)
        .or_else(|| Some(dirs::home_dir()?.join(".cargo")))
}
