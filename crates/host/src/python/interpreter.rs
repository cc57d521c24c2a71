//! Finds a Python that can create an environment.

use crate::version::{self, Version};
use anyhow::{Result, bail};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

/// The variable that names a Python: a program on the PATH, or its path.
pub(crate) const VARIABLE: &str = "PYTHON";

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
    /// The program that runs, which `program` may only start.
    pub(crate) executable: PathBuf,
}

/// Returns the Python that the variable `PYTHON` names, else the first one on the PATH that is new enough.
///
/// # Errors
///
/// If the named Python cannot be used, or there is none.
pub fn find() -> Result<Python> {
    if let Some(python) = named()? {
        return Ok(python);
    }
    let mut too_old = None;
    for python in NAMES.iter().filter_map(|name| ask(name.as_ref())) {
        if python.is_new_enough() {
            return Ok(python);
        }
        too_old.get_or_insert(python);
    }
    let found = too_old.map_or(String::new(), |python| {
        format!(" (found {} {})", python.program.display(), python.version)
    });
    let (major, minor) = OLDEST;
    bail!(
        "Python {major}.{minor} or newer is needed for JupyterLab{found}. Install it (`sudo apt install python3 python3-venv`, \
         `brew install python`), or name one with the variable PYTHON."
    )
}

/// Returns the Python that the variable `PYTHON` names, or `None` if it is not set.
///
/// # Errors
///
/// If it cannot be used.
pub(crate) fn named() -> Result<Option<Python>> {
    let Some(name) = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let found = match ask(&name) {
        Some(python) if python.is_new_enough() => return Ok(Some(python)),
        Some(python) => format!("which is Python {}", python.version),
        None => "which cannot be started".to_owned(),
    };
    let (name, (major, minor)) = (name.to_string_lossy(), OLDEST);
    bail!(
        "The variable PYTHON names {name:?}, {found}; JupyterLab needs Python {major}.{minor} or newer. Set it to another one, or unset it."
    )
}

impl Python {
    fn is_new_enough(&self) -> bool {
        version::parse(&self.version) >= Some(OLDEST)
    }
}

fn ask(name: &OsStr) -> Option<Python> {
    let script = "import platform, sys; print(platform.python_version()); print(sys.executable)";
    let output = Command::new(name).args(["-c", script]).output().ok()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut lines = printed.lines();
    output.status.success().then(|| Python {
        program: PathBuf::from(name),
        version: lines.next().unwrap_or_default().trim().to_owned(),
        executable: lines.next().map_or_else(|| name.into(), PathBuf::from),
    })
}
