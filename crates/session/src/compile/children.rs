//! Which of a session's variables a child process gets.

use super::adopted::Changes;
use super::variables::{CARGO_VARIABLE, HOME_VARIABLE, PATH_VARIABLE, SESSION_VARIABLE};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use taper_host::toolchain::{self, RUSTC_VARIABLE};

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
/// Variables with such names that stay: those that evcxr sets for each call, and the number of parallel
/// compilers, which changes no result.
const LEFT: [&str; 3] = [
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_BUILD_JOBS",
    "CARGO_TARGET_DIR",
];

/// Removes the variables that change how cargo compiles.
pub(crate) fn leave_builds(command: &mut Command) {
    let is_text = |(name, _): (OsString, OsString)| name.into_string().ok();
    for name in std::env::vars_os().filter_map(is_text) {
        if changes_builds(&name) {
            command.env_remove(name);
        }
    }
}

fn changes_builds(name: &str) -> bool {
    let is_of_builds = OF_BUILDS.iter().any(|begin| name.starts_with(begin));
    name == CONTINUOUS_INTEGRATION || is_of_builds && !LEFT.contains(&name)
}

/// Undoes [`enter`](super::enter) for a child process.
pub(crate) fn leave(command: &mut Command) {
    for ours in [
        "RUST_SRC_PATH",
        SESSION_VARIABLE,
        RUSTC_VARIABLE,
        CARGO_VARIABLE,
    ] {
        command.env_remove(ours);
    }
    for (ours, theirs) in [(HOME_VARIABLE, "CARGO_HOME"), (PATH_VARIABLE, "PATH")] {
        if let Some(value) = std::env::var_os(ours) {
            command.env_remove(ours).env(theirs, value);
        }
    }
    Changes::of_session().apply(command);
}

/// Does the same as [`leave`] for a command of the user, and puts the session's toolchain first on its
/// PATH.
pub(crate) fn leave_with_toolchain(command: &mut Command) {
    leave(command);
    let path = Changes::of_session().get("PATH");
    let path = path.or_else(|| std::env::var_os(PATH_VARIABLE));
    let path = path.unwrap_or_else(toolchain::path);
    let rustc = std::env::var_os(RUSTC_VARIABLE).map(PathBuf::from);
    let tools = rustc.and_then(|rustc| Some(rustc.parent()?.to_owned()));
    let folders = tools.into_iter().chain(std::env::split_paths(&path));
    if let Ok(path) = std::env::join_paths(folders) {
        command.env("PATH", path);
    }
}

#[cfg(test)]
mod tests {
    use super::changes_builds;

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
