//! The Jupyter that opens the notebooks: one of Taper's own, or one that the person names.

use super::python::{self, Python};
use crate::cache;
use crate::guard;
use crate::lock::Lock;
use crate::progress::{Progress, duration};
use anyhow::{Context, Result, bail};
use ring::digest::{Context as Digest, SHA256};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Every package of the private environment with its version.
const REQUIREMENTS: &str = include_str!("requirements.txt");

/// JupyterLab asks its maker's server for news unless it is told not to.
const LAB_SETTINGS: &str = r#"{
  "@jupyterlab/apputils-extension:notification": { "fetchNews": "false", "checkForUpdates": false }
}
"#;

/// Written when the environment is complete.
const COMPLETE: &str = "taper-complete";

#[derive(Debug)]
pub struct Jupyter {
    /// The program `jupyter`.
    pub program: PathBuf,
    /// The environment's folder, if it is Taper's own.
    private: Option<PathBuf>,
}

impl Jupyter {
    /// Takes the program that a person named: `jupyter`, or a path to it.
    pub fn existing(program: &Path) -> Result<Jupyter> {
        let jupyter = Jupyter {
            program: program.to_owned(),
            private: None,
        };
        let output = jupyter.command().arg("--version").output();
        if !output.is_ok_and(|o| o.status.success()) {
            bail!(
                "{} is not a working `jupyter`: name the program that prints its version on `jupyter --version`, \
                 or leave --jupyter out to let Taper install one of its own.",
                program.display()
            );
        }
        Ok(jupyter)
    }

    /// Taper's own; made if it is not there or not complete.
    pub fn private(progress: &mut dyn Progress) -> Result<Jupyter> {
        if let Some(jupyter) = Self::find_private()? {
            return Ok(jupyter);
        }
        let python = python::find()?;
        let folder = private_folder()?;
        let home = folder
            .parent()
            .context("the environment lies in the cache")?;
        cache::make(home)?;
        let _lock = Lock::exclusive(home, progress)?;
        if Self::find_private()?.is_none() {
            make_environment(&python, &folder, progress)?;
        }
        Self::find_private()?
            .context("the Python environment is not there although it was just made")
    }

    /// Taper's own, if it is complete.
    pub fn find_private() -> Result<Option<Jupyter>> {
        let folder = private_folder()?;
        let complete = folder.join(COMPLETE).exists();
        Ok(complete.then(|| Jupyter {
            program: bin(&folder).join("jupyter"),
            private: Some(folder),
        }))
    }

    /// Where this Jupyter looks for kernels first.
    pub fn data_folder(&self) -> Result<PathBuf> {
        if let Some(folder) = &self.private {
            return Ok(folder.join("share/jupyter"));
        }
        let output = self.command().args(["--paths", "--json"]).output()?;
        let paths: serde_json::Value =
            serde_json::from_slice(&output.stdout).with_context(|| {
                format!(
                    "asking {} where it keeps its kernels",
                    self.program.display()
                )
            })?;
        let first = paths["data"][0].as_str();
        first
            .map(PathBuf::from)
            .context("this Jupyter names no data folder")
    }

    /// A call of this Jupyter. Taper's own does not read the configuration of another.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(folder) = &self.private {
            command.env("JUPYTER_CONFIG_DIR", folder.join("etc/jupyter-user"));
            command.env_remove("PYTHONPATH").env_remove("PYTHONHOME");
        }
        command
    }
}

/// One folder per list of packages.
fn private_folder() -> Result<PathBuf> {
    let mut digest = Digest::new(&SHA256);
    digest.update(REQUIREMENTS.as_bytes());
    let name = &crate::image::hex(digest)[..16];
    Ok(cache::folder()?.join("python").join(name))
}

fn bin(environment: &Path) -> PathBuf {
    environment.join("bin")
}

fn make_environment(python: &Python, folder: &Path, progress: &mut dyn Progress) -> Result<()> {
    let start = Instant::now();
    progress.line(&format!(
        "Installing JupyterLab into Taper's own Python environment (Python {}).",
        python.version
    ));
    // What an earlier try left may be incomplete in any way.
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("removing {}", folder.display()))?;
    }
    let mut venv = guard::command(&python.program)?;
    run(venv.args(["-m", "venv"]).arg(folder)).context(
        "Python could not make an environment. On Debian and Ubuntu: `sudo apt install python3-venv`.",
    )?;
    let requirements = folder.join("requirements.txt");
    std::fs::write(&requirements, REQUIREMENTS)?;
    let mut pip = guard::command(bin(folder).join("python"))?;
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
    run(pip.arg(&requirements)).context(
        "The packages of JupyterLab could not be installed; check the connection, then run the same command again.",
    )?;
    let settings = folder.join("share/jupyter/lab/settings");
    cache::make(&settings)?;
    std::fs::write(settings.join("overrides.json"), LAB_SETTINGS)?;
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
