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

/// Keeps JupyterLab from asking a server for news and updates, lets it close brackets while they are typed, and shows the
/// signature and the documentation beside a completion.
const LAB_SETTINGS: &str = r#"{
  "@jupyterlab/apputils-extension:notification": { "fetchNews": "false", "checkForUpdates": false },
  "@jupyterlab/completer-extension:manager": { "showDocumentationPanel": true },
  "@jupyterlab/notebook-extension:tracker": { "codeCellConfig": { "lineNumbers": false, "lineWrap": false, "autoClosingBrackets": true } }
}
"#;

/// The languages of JupyterLab's packs in the environment, with its names for them.
const LANGUAGES: [(&str, &str); 2] = [("fr", "fr_FR"), ("zh", "zh_CN")];

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

/// The exports in JupyterLab's menu, without those that would fail.
const EXPORTS: &str = include_str!("jupyter_server_config.py");

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

    /// Returns Taper's own Jupyter; installs it if it is missing or incomplete. An older Taper may have left other
    /// settings.
    pub(crate) fn private(progress: &mut dyn Progress) -> Result<Jupyter> {
        let environment = Environment::ensure(&PACKAGES, progress)?;
        configure(&environment.folder)?;
        Ok(Self::of(environment))
    }

    /// Lets [`Jupyter::private`] install it again if the user names another Python.
    pub(crate) fn choose() -> Result<()> {
        Environment::choose(&PACKAGES)
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

    /// Returns the folder with the settings for JupyterLab in a language; `None` for English.
    pub(crate) fn settings(&self, language: &str) -> Result<Option<PathBuf>> {
        let mut known = LANGUAGES.map(|(language, _)| language).into_iter();
        match &self.private {
            _ if language == "en" => Ok(None),
            Some(folder) if known.any(|known| known == language) => {
                Ok(Some(folder.join(language_settings(language))))
            }
            Some(_) => bail!(
                "JupyterLab has no pack for the language `{language}` here; there are: en, {}",
                LANGUAGES.map(|(language, _)| language).join(", ")
            ),
            None => bail!(
                "--lang is for Taper's own JupyterLab. Choose the language of {} in its menu Settings.",
                self.program.display()
            ),
        }
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

/// Returns the folder of the environment with JupyterLab's settings for a language.
fn language_settings(language: &str) -> PathBuf {
    Path::new("share/taper/lab-settings").join(language)
}

/// Writes our settings into the environment, unless they are there: JupyterLab's, and those of exports from the command
/// line and from the menu.
fn configure(folder: &Path) -> Result<()> {
    let write = |folder: PathBuf, name: &str, text: &str| -> Result<()> {
        let file = folder.join(name);
        if std::fs::read(&file).is_ok_and(|old| old == text.as_bytes()) {
            return Ok(());
        }
        cache::make(&folder)?;
        cache::write_atomically(&file, text.as_bytes())
    };
    write(
        folder.join("share/jupyter/lab/settings"),
        "overrides.json",
        LAB_SETTINGS,
    )?;
    for (language, locale) in LANGUAGES {
        let setting = format!(
            r#"{{ "@jupyterlab/translation-extension:plugin": {{ "locale": "{locale}" }},"#
        );
        let settings = LAB_SETTINGS.replacen('{', &setting, 1);
        write(
            folder.join(language_settings(language)),
            "overrides.json",
            &settings,
        )?;
    }
    let template = folder.join("share/jupyter/nbconvert/templates/taper");
    write(template.clone(), "index.html.j2", EXPORT_TEMPLATE)?;
    write(template, "conf.json", EXPORT_TEMPLATE_BASE)?;
    let config = folder.join("etc/jupyter");
    write(
        config.clone(),
        "jupyter_nbconvert_config.json",
        EXPORT_SETTINGS,
    )?;
    write(
        config.clone(),
        "jupyter_server_config.json",
        EXPORT_SETTINGS,
    )?;
    write(config, "jupyter_server_config.py", EXPORTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_an_older_version_are_replaced() {
        let environment = tempfile::tempdir().expect("a folder");
        configure(environment.path()).expect("they are written");
        let settings = environment.path().join("share/jupyter/lab/settings");
        let file = settings.join("overrides.json");
        std::fs::write(&file, "{}").expect("it is written");
        configure(environment.path()).expect("they are written");
        assert_eq!(
            std::fs::read_to_string(&file).expect("it is there"),
            LAB_SETTINGS
        );
        assert_eq!(std::fs::read_dir(&settings).expect("a folder").count(), 1);
    }
}
