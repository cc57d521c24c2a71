//! The Jupyter that opens the notebooks: one of Taper's own, or one that the person names.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use taper_host::cache;
use taper_host::progress::Progress;
use taper_host::python::environment::{Environment, Packages};

/// Every package of the private environment with its version.
const PACKAGES: Packages = Packages {
    name: "JupyterLab",
    requirements: include_str!("requirements.txt"),
    advice: "The packages of JupyterLab could not be installed; check the connection, then run the same command \
        again.",
};

/// JupyterLab asks its maker's server for news unless it is told not to.
const LAB_SETTINGS: &str = r#"{
  "@jupyterlab/apputils-extension:notification": { "fetchNews": "false", "checkForUpdates": false }
}
"#;

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
        Environment::ensure(&PACKAGES, configure, progress).map(Self::of)
    }

    /// Taper's own, if it is complete.
    pub fn find_private() -> Result<Option<Jupyter>> {
        Ok(Environment::find(&PACKAGES)?.map(Self::of))
    }

    fn of(environment: Environment) -> Jupyter {
        Jupyter {
            program: environment.bin().join("jupyter"),
            private: Some(environment.folder),
        }
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

/// JupyterLab as we want it, in its new environment.
fn configure(folder: &Path) -> Result<()> {
    let settings = folder.join("share/jupyter/lab/settings");
    cache::make(&settings)?;
    std::fs::write(settings.join("overrides.json"), LAB_SETTINGS)?;
    Ok(())
}
