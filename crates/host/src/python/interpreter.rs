//! Finds a Python that can create an environment.

use crate::error::{Error, Result};
use crate::version::{self, Version};
use std::path::PathBuf;
use std::process::Command;

/// The oldest Python that the pinned packages run on.
const OLDEST: Version = (3, 10);

const NAMES: [&str; 6] = [
    "python3",
    "python",
    "python3.13",
    "python3.12",
    "python3.11",
    "python3.10",
];

/// A Python interpreter.
#[derive(Debug)]
pub struct Python {
    /// Its name on the PATH, or its path.
    pub program: PathBuf,
    /// Its version, such as `3.11.7`.
    pub version: String,
}

/// Returns the first Python that is new enough: the program in the variable `PYTHON`, else on the PATH.
pub fn find() -> Result<Python> {
    let named = std::env::var("PYTHON").ok();
    let names = named.iter().map(String::as_str).chain(NAMES);
    let mut too_old = None;
    for python in names.filter_map(ask) {
        if version::parse(&python.version) >= Some(OLDEST) {
            return Ok(python);
        }
        too_old.get_or_insert(python);
    }
    Err(Error::NoPython {
        found: too_old.map(|python| format!("{} {}", python.program.display(), python.version)),
        needed: OLDEST,
    })
}

fn ask(name: &str) -> Option<Python> {
    let script = "import platform; print(platform.python_version())";
    let output = Command::new(name).args(["-c", script]).output().ok()?;
    output.status.success().then(|| Python {
        program: PathBuf::from(name),
        version: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    })
}
