//! Python environments of Taper's own, one for each list of packages.

use super::interpreter::{self, Python};
use crate::cache;
use crate::digest::hex;
use crate::lock::Lock;
use crate::process;
use crate::progress::{Progress, duration};
use anyhow::{Context, Result, bail};
use ring::digest::{Context as Digest, SHA256};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Written when the environment is complete.
const COMPLETE: &str = "taper-complete";

/// What is installed together.
pub struct Packages {
    /// What a person calls it.
    pub name: &'static str,
    /// As pip reads it, complete and with versions.
    pub list: &'static str,
    /// What to say if they cannot be installed.
    pub what_failed: &'static str,
}

/// One that is complete.
#[derive(Debug)]
pub struct Environment {
    pub folder: PathBuf,
}

impl Environment {
    /// The one for these packages, if it is complete.
    pub fn find(packages: &Packages) -> Result<Option<Environment>> {
        let folder = folder_of(packages)?;
        let complete = folder.join(COMPLETE).exists();
        Ok(complete.then_some(Environment { folder }))
    }

    /// Made if it is not there or not complete; `configure` gets its folder when all is installed.
    pub fn ensure(
        packages: &Packages,
        configure: impl FnOnce(&Path) -> Result<()>,
        progress: &mut dyn Progress,
    ) -> Result<Environment> {
        if let Some(environment) = Self::find(packages)? {
            return Ok(environment);
        }
        let python = interpreter::find()?;
        let folder = folder_of(packages)?;
        let all = folder
            .parent()
            .context("the environment lies in the cache")?;
        cache::make(all)?;
        let _lock = Lock::exclusive(all, progress)?;
        if Self::find(packages)?.is_none() {
            make(packages, &python, &folder, configure, progress)?;
        }
        Self::find(packages)?
            .context("the Python environment is not there although it was just made")
    }

    /// Its programs.
    pub fn bin(&self) -> PathBuf {
        bin(&self.folder)
    }

    /// Where its packages lie.
    pub fn packages(&self) -> Option<PathBuf> {
        let versions = std::fs::read_dir(self.folder.join("lib")).ok()?.flatten();
        let mut places = versions.map(|version| version.path().join("site-packages"));
        places.find(|place| place.is_dir())
    }
}

/// One folder per list of packages.
fn folder_of(packages: &Packages) -> Result<PathBuf> {
    let mut digest = Digest::new(&SHA256);
    digest.update(packages.list.as_bytes());
    let name = &hex(digest)[..16];
    Ok(cache::folder()?.join("python").join(name))
}

fn bin(environment: &Path) -> PathBuf {
    environment.join("bin")
}

fn make(
    packages: &Packages,
    python: &Python,
    folder: &Path,
    configure: impl FnOnce(&Path) -> Result<()>,
    progress: &mut dyn Progress,
) -> Result<()> {
    let start = Instant::now();
    progress.line(&format!(
        "Installing {} into Taper's own Python environment (Python {}).",
        packages.name, python.version
    ));
    // What an earlier try left may be incomplete in any way.
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("removing {}", folder.display()))?;
    }
    let mut venv = process::guarded(&python.program)?;
    run(venv.args(["-m", "venv"]).arg(folder)).context(
        "Python could not make an environment. On Debian and Ubuntu: `sudo apt install python3-venv`.",
    )?;
    let requirements = folder.join("requirements.txt");
    std::fs::write(&requirements, packages.list)?;
    let mut pip = process::guarded(bin(folder).join("python"))?;
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
    run(pip.arg(&requirements)).context(packages.what_failed)?;
    configure(folder)?;
    cache::write_atomically(&folder.join(COMPLETE), b"")?;
    progress.line(&format!("Installed in {}.", duration(start.elapsed())));
    Ok(())
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("No space left on device") {
            bail!("The disk is full: free some space, then run the same command again.\n{said}");
        }
        bail!("{}{said}", String::from_utf8_lossy(&output.stdout));
    }
    Ok(())
}
