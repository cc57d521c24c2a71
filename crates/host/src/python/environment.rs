//! Taper's own Python environments, one for each list of packages.

use super::interpreter::{self, Python};
use crate::cache;
use crate::digest;
use crate::error::{DISK_FULL, OnFile as _};
use crate::lock::Lock;
use crate::process;
use crate::progress::{Progress, duration};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The file that is written when the environment is complete.
const COMPLETE: &str = "taper-complete";

/// Packages that are installed together.
pub struct Packages {
    /// Their name in messages.
    pub name: &'static str,
    /// The content of pip's `requirements.txt`: all packages with their versions.
    pub requirements: &'static str,
    /// The message when they cannot be installed, with the next step.
    pub advice: &'static str,
}

/// A complete environment.
#[derive(Debug)]
pub struct Environment {
    /// Its folder.
    pub folder: PathBuf,
}

impl Environment {
    /// Returns the environment with these packages if it is complete.
    pub fn find(packages: &Packages) -> Result<Option<Environment>> {
        let folder = folder_of(packages)?;
        let complete = folder.join(COMPLETE).exists();
        Ok(complete.then_some(Environment { folder }))
    }

    /// Returns the environment with these packages. If it does not exist or is not complete, it is created.
    pub fn ensure(packages: &Packages, progress: &mut dyn Progress) -> Result<Environment> {
        if let Some(environment) = Self::find(packages)? {
            return Ok(environment);
        }
        let python = interpreter::find()?;
        let all = parent()?;
        cache::make(&all)?;
        let _lock = Lock::exclusive(&all, progress)?;
        // Another process may have created it while we waited.
        if let Some(environment) = Self::find(packages)? {
            return Ok(environment);
        }
        let folder = folder_of(packages)?;
        let start = Instant::now();
        progress.line(&format!(
            "Installing {} into Taper's own Python environment (Python {}).",
            packages.name, python.version
        ));
        install(packages, &python, &folder)?;
        cache::write_atomically(&folder.join(COMPLETE), b"")?;
        progress.line(&format!("Installed in {}.", duration(start.elapsed())));
        Ok(Environment { folder })
    }

    /// Lets [`Environment::ensure`] make the environment again if the variable `PYTHON` names another Python than the one
    /// that made it.
    ///
    /// # Errors
    ///
    /// If the named Python cannot be used.
    pub fn choose(packages: &Packages) -> Result<()> {
        let Some(python) = interpreter::named()? else {
            return Ok(());
        };
        let folder = folder_of(packages)?;
        // An environment's `python` is a link to the Python which made it.
        let made_by = bin(&folder).join("python").canonicalize();
        let named = python.executable.canonicalize();
        let marker = folder.join(COMPLETE);
        match (made_by, named) {
            (Ok(made_by), Ok(named)) if made_by != named && marker.exists() => {
                std::fs::remove_file(&marker).on_file("remove", &marker)
            }
            _ => Ok(()),
        }
    }

    /// Returns the folder with the environment's programs.
    pub fn bin(&self) -> PathBuf {
        bin(&self.folder)
    }

    /// Returns the folder with the environment's packages.
    pub(crate) fn site_packages(&self) -> Result<PathBuf> {
        let lib = self.folder.join("lib");
        let versions = std::fs::read_dir(&lib).on_file("read", &lib)?.flatten();
        let mut folders = versions.map(|version| version.path().join("site-packages"));
        let found = folders.find(|folder| folder.is_dir());
        found.with_context(|| {
            let folder = self.folder.display();
            format!("the Python environment {folder} is not complete although it was just created")
        })
    }
}

/// Returns the folder of all environments.
fn parent() -> Result<PathBuf> {
    Ok(cache::folder()?.join("python"))
}

/// Returns the folder of an environment; each list of packages has its own.
fn folder_of(packages: &Packages) -> Result<PathBuf> {
    Ok(parent()?.join(digest::name_of(&[packages.requirements])))
}

fn bin(environment: &Path) -> PathBuf {
    environment.join("bin")
}

fn install(packages: &Packages, python: &Python, folder: &Path) -> Result<()> {
    // An interrupted installation may have left an incomplete environment.
    cache::remove(folder)?;
    let mut venv = process::supervised(&python.program)?;
    run(
        venv.args(["-m", "venv"]).arg(folder),
        "Python could not create an environment. On Debian and Ubuntu: `sudo apt install python3-venv`.",
    )?;
    let requirements = folder.join("requirements.txt");
    cache::write_atomically(&requirements, packages.requirements.as_bytes())?;
    let mut pip = process::supervised(bin(folder).join("python"))?;
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-input",
        "--disable-pip-version-check",
        "-r",
    ]);
    run(pip.arg(&requirements), packages.advice)
}

fn run(command: &mut Command, advice: &str) -> Result<()> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.on_file("start", command.get_program())?;
    if output.status.success() {
        return Ok(());
    }
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    // Python's text of ENOSPC is all that pip and venv report.
    let advice = match printed.contains("No space left on device") {
        true => DISK_FULL,
        false => advice,
    };
    bail!("{advice}\n{printed}")
}
