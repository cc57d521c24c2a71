//! The Jupyter that opens the notebooks: Taper's own, or the one that the user names.

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

/// Keeps JupyterLab from asking a server for news and updates, and lets it close brackets while they are typed.
const LAB_SETTINGS: &str = r#"{
  "@jupyterlab/apputils-extension:notification": { "fetchNews": "false", "checkForUpdates": false },
  "@jupyterlab/notebook-extension:tracker": { "codeCellConfig": { "lineNumbers": false, "lineWrap": false, "autoClosingBrackets": true } }
}
"#;

/// The style sheet that JupyterLab loads after its own, and the setting with which it does.
const LAB_STYLE: &str = include_str!("lab.css");
const LAB_STYLE_SETTING: &str = r#"{ "LabApp": { "custom_css": true } }
"#;

/// The folder of the environment with the user's configuration.
const USER_CONFIG: &str = "etc/jupyter-user";

/// The template of exports to HTML: nbconvert's own has no descriptions of figures for screen readers.
const EXPORT_TEMPLATE: &str = r#"{%- extends 'lab/index.html.j2' -%}

{%- block data_svg scoped -%}
<div class="jp-RenderedSVG jp-OutputArea-output" data-mime-type="image/svg+xml">
<img src="data:image/svg+xml;base64,{{ output.data['image/svg+xml'] | text_base64 | escape_html }}" alt="{{ output.data.get('text/plain', 'figure') | escape_html }}">
</div>
{%- endblock data_svg -%}
"#;
const EXPORT_TEMPLATE_BASE: &str = r#"{ "base_template": "lab", "mimetypes": { "text/html": true } }
"#;
const EXPORT_SETTINGS: &str = r#"{ "HTMLExporter": { "template_name": "taper" } }
"#;

#[derive(Debug)]
pub(crate) struct Jupyter {
    /// The program `jupyter`.
    pub(crate) program: PathBuf,
    /// The environment's folder, if it is Taper's own.
    private: Option<PathBuf>,
}

impl Jupyter {
    /// Checks and returns the program that the user named: `jupyter`, or a path to it.
    pub(crate) fn existing(program: &Path) -> Result<Jupyter> {
        let jupyter = Jupyter {
            program: program.to_owned(),
            private: None,
        };
        let output = jupyter.command().arg("--version").output();
        if !output.is_ok_and(|o| o.status.success()) {
            bail!(
                "{} is not a working `jupyter`: name the program that prints its version on `jupyter --version`, \
                 or leave --jupyter out to let Taper install its own.",
                program.display()
            );
        }
        Ok(jupyter)
    }

    /// Returns Taper's own Jupyter; installs it if it is missing or incomplete.
    pub(crate) fn private(progress: &mut dyn Progress) -> Result<Jupyter> {
        Environment::ensure(&PACKAGES, configure, progress).map(Self::of)
    }

    /// Returns Taper's own Jupyter, if it is complete.
    pub(crate) fn find_private() -> Result<Option<Jupyter>> {
        Ok(Environment::find(&PACKAGES)?.map(Self::of))
    }

    fn of(environment: Environment) -> Jupyter {
        Jupyter {
            program: environment.bin().join("jupyter"),
            private: Some(environment.folder),
        }
    }

    /// Returns the folder in which this Jupyter looks for kernels first.
    pub(crate) fn data_folder(&self) -> Result<PathBuf> {
        if let Some(folder) = &self.private {
            return Ok(folder.join("share/jupyter"));
        }
        let output = self.command().args(["--paths", "--json"]).output()?;
        let paths: serde_json::Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("asking {} for its data folders", self.program.display()))?;
        let first = paths["data"][0].as_str();
        first
            .map(PathBuf::from)
            .context("this Jupyter names no data folder")
    }

    /// Returns a command that starts this Jupyter. Taper's own does not read the configuration of another.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(folder) = &self.private {
            command.env("JUPYTER_CONFIG_DIR", folder.join(USER_CONFIG));
            command.env_remove("PYTHONPATH").env_remove("PYTHONHOME");
        }
        command
    }
}

/// Writes our settings into the new environment: JupyterLab's, and those of exports to HTML from the command
/// line and from the menu.
fn configure(folder: &Path) -> Result<()> {
    let write = |folder: PathBuf, name: &str, text: &str| -> Result<()> {
        cache::make(&folder)?;
        Ok(std::fs::write(folder.join(name), text)?)
    };
    write(
        folder.join("share/jupyter/lab/settings"),
        "overrides.json",
        LAB_SETTINGS,
    )?;
    write(
        folder.join(USER_CONFIG).join("custom"),
        "custom.css",
        LAB_STYLE,
    )?;
    let template = folder.join("share/jupyter/nbconvert/templates/taper");
    write(template.clone(), "index.html.j2", EXPORT_TEMPLATE)?;
    write(template, "conf.json", EXPORT_TEMPLATE_BASE)?;
    let config = folder.join("etc/jupyter");
    write(config.clone(), "jupyter_lab_config.json", LAB_STYLE_SETTING)?;
    write(
        config.clone(),
        "jupyter_nbconvert_config.json",
        EXPORT_SETTINGS,
    )?;
    write(config, "jupyter_server_config.json", EXPORT_SETTINGS)
}
