//! A Python environment for the tests: Jupyter's own clients and its tests of kernels, and Playwright.

use super::{root, run_within};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

const REQUIREMENTS: [&str; 2] = [
    "cli/src/setup/requirements.txt",
    "tests/python/requirements.txt",
];
/// The limit includes downloading packages.
const TO_INSTALL: Duration = Duration::from_secs(600);

/// Returns the environment's `python`. It is created once for each list of packages, in Taper's cache.
pub(crate) fn python() -> PathBuf {
    // Tests run at the same time, and only one of them creates the environment.
    static PYTHON: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = folder();
        let complete = folder.join("taper-complete");
        if !complete.exists() {
            make(&folder);
            std::fs::write(&complete, "").expect("the environment is there");
        }
        folder.join("bin/python")
    });
    PYTHON.clone()
}

fn folder() -> PathBuf {
    let mut hasher = DefaultHasher::new();
    for file in REQUIREMENTS {
        std::fs::read_to_string(root().join(file))
            .expect("the list of packages")
            .hash(&mut hasher);
    }
    cache()
        .join("test-python")
        .join(format!("{:016x}", hasher.finish()))
}

/// Returns Taper's cache.
pub(crate) fn cache() -> PathBuf {
    match std::env::var_os("TAPER_CACHE") {
        Some(cache) => PathBuf::from(cache),
        None => dirs::cache_dir()
            .expect("the system names a cache folder")
            .join("taper"),
    }
}

fn make(folder: &Path) {
    // An earlier attempt may have left an incomplete environment.
    let _ = std::fs::remove_dir_all(folder);
    let mut venv = Command::new(std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into()));
    venv.args(["-m", "venv"]).arg(folder);
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-input"])
        .current_dir(root());
    for file in REQUIREMENTS {
        pip.args(["-r", file]);
    }
    for command in [venv, pip] {
        let said = run_within(TO_INSTALL, command);
        assert!(said.status.success(), "{}", said.all());
    }
}
