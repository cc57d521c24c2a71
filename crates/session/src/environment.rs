//! The environment of what a session starts for the user: cells, shell commands, cargo.
//!
//! A spare kernel was started with another environment than the kernel whose place it takes. It cannot change its
//! own, because other threads read it by then. Instead each process that runs for the user is started with the
//! differences.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use taper_host::mutex::lock;
use taper_host::toolchain;

/// The folder in a store that is cargo's home while the store is filled.
pub const STORED_CARGO_HOME: &str = "cargo";

/// New values of variables; `None` removes the variable.
type Changes = BTreeMap<OsString, Option<OsString>>;

static CHANGES: Mutex<Changes> = Mutex::new(Changes::new());

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
#[cfg(feature = "evcxr")]
pub(crate) const OF_EVCXR: [&str; 2] = ["EVCXR_TMPDIR", "EVCXR_CONFIG_DIR"];

/// Sets the environment of what the session starts from now on.
pub(crate) fn adopt(environment: impl IntoIterator<Item = (OsString, OsString)>) {
    *lock(&CHANGES) = changes(std::env::vars_os().collect(), environment);
}

fn changes(
    mut before: BTreeMap<OsString, OsString>,
    after: impl IntoIterator<Item = (OsString, OsString)>,
) -> Changes {
    let mut changes = Changes::new();
    for (name, value) in after {
        if before.remove(&name).as_ref() != Some(&value) {
            changes.insert(name, Some(value));
        }
    }
    changes.extend(before.into_keys().map(|name| (name, None)));
    changes
}

/// Sets the environment of a process that runs for the user.
pub fn for_user(command: &mut Command) {
    apply(&lock(&CHANGES), command);
    #[cfg(feature = "evcxr")]
    for name in OF_EVCXR {
        command.env_remove(name);
    }
}

fn apply(changes: &Changes, command: &mut Command) {
    for (name, value) in changes {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// Sets the environment of a shell command of the user, with the session's toolchain first on its PATH.
pub(crate) fn for_shell(command: &mut Command) {
    for_user(command);
    let path = lock(&CHANGES).get(OsStr::new("PATH")).cloned().flatten();
    let path = path.unwrap_or_else(toolchain::path);
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
    let adopted = lock(&CHANGES)
        .keys()
        .filter_map(|name| name.to_str().map(str::to_owned))
        .collect::<Vec<_>>();
    for name in std::env::vars_os().filter_map(is_text).chain(adopted) {
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
    fn only_differences_are_applied() {
        let environment = |variables: &[(&str, &str)]| -> BTreeMap<OsString, OsString> {
            let own = |&(name, value): &(&str, &str)| (name.into(), value.into());
            variables.iter().map(own).collect()
        };
        let before = environment(&[("A", "1"), ("B", "2"), ("C", "3")]);
        let after = environment(&[("A", "1"), ("B", "4"), ("D", "5")]);
        let mut command = Command::new("true");
        apply(&changes(before, after), &mut command);
        let applied: Vec<_> = command.get_envs().collect();
        let value = |text| Some(OsStr::new(text));
        assert_eq!(
            applied,
            [
                (OsStr::new("B"), value("4")),
                (OsStr::new("C"), None),
                (OsStr::new("D"), value("5"))
            ]
        );
    }

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
