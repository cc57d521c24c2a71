//! `taper lab`: sets up what is missing and becomes JupyterLab, while the image is compiled in the background.

use crate::setup;
use crate::setup::jupyter::Jupyter;
use anyhow::{Context, Result, bail};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use taper_host::progress::Console;
use taper_host::{cache, checkout, digest};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The notebook to open
    pub(crate) notebook: Option<PathBuf>,
    /// Do not open a browser; print the address instead
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// The port on which JupyterLab listens (default: the first free one from 8888)
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// The language of JupyterLab's menus: `en`, `fr` or `zh` (default: the system's, if it is one of them)
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) lang: Option<String>,
    /// Use this `jupyter` instead of Taper's own
    #[arg(long, value_name = "PATH")]
    pub(crate) jupyter: Option<PathBuf>,
}

/// Becomes JupyterLab, so that Ctrl-C and other signals reach it directly.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let notebook = arguments.notebook.as_deref().map(existing).transpose()?;
    if let Some(port) = arguments.port {
        is_free(port)?;
    }
    if let (None, true) = (&notebook, checkout::is_carried()) {
        offer_course(&std::env::current_dir()?)?;
    }
    let mut console = Console::new();
    setup::begin_image(&mut console)?;
    let jupyter = setup::jupyter(arguments.jupyter.as_deref(), &mut console)?;
    let root = root_folder(notebook.as_deref())?;
    let here = std::env::current_dir()?;
    setup::trust::chapters(
        &jupyter,
        notebook.as_deref().and_then(Path::parent).unwrap_or(&here),
    )?;
    let mut lab = jupyter.command();
    lab.arg("lab").current_dir(&root);
    lab.arg(format!("--ServerApp.root_dir={}", root.display()));
    lab.arg(format!(
        "--MultiKernelManager.default_kernel_name={}",
        setup::kernelspec::NAME
    ));
    if let Some(settings) = settings(&jupyter, arguments.lang.as_deref())? {
        lab.arg(format!("--LabApp.app_settings_dir={}", settings.display()));
    }
    if std::env::var_os(WORKSPACES).is_none() {
        lab.env(WORKSPACES, workspaces(&root)?);
    }
    // Only the address to open and problems are printed.
    lab.arg("--log-level=WARN");
    if arguments.no_browser {
        lab.arg("--no-browser");
    }
    if let Some(port) = arguments.port {
        lab.arg(format!("--ServerApp.port={port}"))
            .arg("--ServerApp.port_retries=0");
    }
    if rustix::process::geteuid().is_root() {
        // Jupyter refuses to start otherwise; in a container there is often no other user.
        lab.arg("--allow-root");
    }
    if let Some(notebook) = &notebook {
        // Not as an argument: then the printed address would not open the notebook.
        lab.arg(format!("--LabApp.default_url={}", address(notebook, &root)));
    }
    eprintln!("Starting JupyterLab; Ctrl-C stops it.");
    let error = lab.exec();
    Err(error).with_context(|| format!("starting {}", jupyter.program.display()))
}

/// JupyterLab's variable for the folder in which it keeps what is open.
const WORKSPACES: &str = "JUPYTERLAB_WORKSPACES_DIR";

/// Returns the workspaces of a folder: one for all folders would open the tabs of another beside the notebook.
fn workspaces(root: &Path) -> Result<PathBuf> {
    let name = digest::of(root.as_os_str().as_encoded_bytes());
    Ok(cache::folder()?.join("lab-workspaces").join(&name[..16]))
}

/// Returns the folder with the settings for the user's language, or else the system's. If there is no language pack for
/// the system's language, JupyterLab is in English.
fn settings(jupyter: &Jupyter, named: Option<&str>) -> Result<Option<PathBuf>> {
    match named {
        Some(language) => jupyter.settings(language),
        None => {
            let variables = ["LC_ALL", "LC_MESSAGES", "LANG"].map(|name| std::env::var(name).ok());
            Ok(jupyter
                .settings(&system_language(variables))
                .unwrap_or_default())
        }
    }
}

/// Returns the language in the first of the system's variables that is set: `zh` of `zh_CN.UTF-8`.
fn system_language(variables: [Option<String>; 3]) -> String {
    let first = variables
        .into_iter()
        .flatten()
        .find(|value| !value.is_empty());
    let locale = first.unwrap_or_default();
    locale
        .split(['_', '.', '@'])
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn existing(notebook: &Path) -> Result<PathBuf> {
    notebook.canonicalize().with_context(|| {
        format!(
            "there is no notebook {}: check the path",
            notebook.display()
        )
    })
}

/// Says how to get the chapters, where there is no notebook yet.
fn offer_course(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        if entry?.path().extension() == Some("ipynb".as_ref()) {
            return Ok(());
        }
    }
    eprintln!(
        "There are no notebooks here. `taper course course` writes the chapters of the course; \
         then: taper lab course/01-welcome.ipynb"
    );
    Ok(())
}

/// Returns the folder that JupyterLab shows: the clone, if the notebook (or else the current folder) is
/// inside it.
fn root_folder(notebook: Option<&Path>) -> Result<PathBuf> {
    let home = checkout::folder()?;
    let here = std::env::current_dir()?;
    let folder = notebook.and_then(Path::parent).unwrap_or(&here);
    Ok(if folder.starts_with(&home) {
        home
    } else {
        folder.to_owned()
    })
}

/// The bytes of a file's name that are encoded in an address.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Returns the path of JupyterLab's address that opens a notebook, percent-encoded.
fn address(notebook: &Path, root: &Path) -> String {
    let relative = notebook.strip_prefix(root).unwrap_or(notebook);
    let mut address = "/lab/tree".to_owned();
    for name in relative.iter() {
        address.push('/');
        address.extend(percent_encode(name.as_encoded_bytes(), ENCODED));
    }
    address
}

fn is_free(port: u16) -> Result<()> {
    if let Err(error) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        bail!(
            "Port {port} cannot be used ({error}). Choose another with --port, or leave --port out."
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_that_of_the_first_variable_that_is_set() {
        let of = |all: [&str; 3]| {
            let set = |value: &str| (value != "-").then(|| value.to_owned());
            system_language(all.map(set))
        };
        assert_eq!(of(["-", "", "zh_CN.UTF-8"]), "zh");
        assert_eq!(of(["fr", "zh_CN", "C"]), "fr");
        assert_eq!(of(["-", "-", "C.UTF-8"]), "C");
        assert_eq!(of(["-", "-", "-"]), "");
    }

    #[test]
    fn each_folder_has_tabs_of_its_own() {
        let of = |root: &str| workspaces(Path::new(root)).expect("a folder");
        assert_eq!(of("/home/me"), of("/home/me"));
        assert_ne!(of("/home/me"), of("/home/me/course"));
    }

    #[test]
    fn the_address_opens_the_notebook() {
        let root = Path::new("/home/me");
        let of = |name: &str| address(&root.join(name), root);
        assert_eq!(of("01-welcome.ipynb"), "/lab/tree/01-welcome.ipynb");
        assert_eq!(
            of("my notes/Größe.ipynb"),
            "/lab/tree/my%20notes/Gr%C3%B6%C3%9Fe.ipynb"
        );
    }
}
