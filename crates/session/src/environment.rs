//! The environment of what a session starts for the user: cells, shell commands, cargo.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use taper_host::toolchain;

/// The folder in a store that is cargo's home while the store is filled.
pub const STORED_CARGO_HOME: &str = "cargo";

/// The beginnings of the names of variables that change how cargo compiles. They are removed: a kernel
/// that a desktop starts has other variables than a kernel from a terminal, and each change would
/// compile all packages again. Settings that must have an effect belong in cargo's configuration file,
/// which is part of the image's key.
const OF_BUILDS: [&str; 9] = [
    "CARGO_BUILD_",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_HOST_",
    "CARGO_INCREMENTAL",
    "CARGO_PROFILE_",
    "CARGO_RESOLVER_",
    "CARGO_TARGET_",
    "CARGO_UNSTABLE_",
    "RUSTC_",
];
/// The variable with which cargo 1.99 and newer compile nothing incrementally.
const CONTINUOUS_INTEGRATION: &str = "CI";
/// The number of parallel compilers, which changes no result.
const JOBS: &str = "CARGO_BUILD_JOBS";

/// The variables by which evcxr finds a session's folder, where it is built in.
pub(crate) const OF_EVCXR: &[&str] = match cfg!(feature = "evcxr") {
    true => &["EVCXR_TMPDIR", "EVCXR_CONFIG_DIR"],
    false => &[],
};

/// Sets the environment of a process that runs for the user.
pub(crate) fn for_user(command: &mut Command) {
    for name in OF_EVCXR {
        command.env_remove(name);
    }
}

/// Sets the environment of a shell command of the user, with the session's toolchain first on its PATH.
pub(crate) fn for_shell(command: &mut Command) {
    for_user(command);
    let path = toolchain::path();
    let tools = toolchain::get()
        .ok()
        .and_then(|found| Some(found.rustc.parent()?.to_owned()));
    let folders = tools.into_iter().chain(std::env::split_paths(&path));
    if let Ok(path) = std::env::join_paths(folders) {
        command.env("PATH", path);
    }
}

/// Sets the environment of a call of cargo that must compile in the same way in every session, whatever variables
/// the user has set.
pub(crate) fn for_build(command: &mut Command) {
    for_user(command);
    let is_text = |(name, _): (OsString, OsString)| name.into_string().ok();
    for name in std::env::vars_os().filter_map(is_text) {
        if changes_builds(&name) {
            command.env_remove(name);
        }
    }
}

fn changes_builds(name: &str) -> bool {
    let is_of_builds = OF_BUILDS.iter().any(|begin| name.starts_with(begin));
    name == CONTINUOUS_INTEGRATION || is_of_builds && name != JOBS
}

/// Returns cargo's home.
pub fn cargo_home() -> Option<PathBuf> {
    let named = std::env::var_os("CARGO_HOME").filter(|path| !path.is_empty());
    named
        .map(PathBuf::from)
        .or_else(|| Some(dirs::home_dir()?.join(".cargo")))
}

/// Returns the folder with the sources of an image's packages: cargo's home in the store, or else the user's.
pub(crate) fn packages() -> Option<PathBuf> {
    let stored = taper_host::store::folder().map(|store| store.join(STORED_CARGO_HOME));
    stored.filter(|home| home.exists()).or_else(cargo_home)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_would_compile_the_packages_again_are_left_out() {
        for name in ["CI", "CARGO_INCREMENTAL", "CARGO_PROFILE_DEV_OPT_LEVEL"] {
            assert!(changes_builds(name), "{name}");
        }
        for name in ["CIRCLE_BRANCH", "CARGO_HOME", "CARGO_BUILD_JOBS", "HOME"] {
            assert!(!changes_builds(name), "{name}");
        }
    }
}
