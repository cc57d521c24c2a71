//! `taper notebook-text`: prints a notebook as text, for `git diff`; `taper course --git` sets it up.

use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::ExitCode;
use taper_notebook::Notebook;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The notebook
    pub(crate) notebook: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    match Notebook::load(&arguments.notebook) {
        Ok(notebook) => print!("{}", notebook.plain_text()),
        // A file that is not a notebook, such as one with the marks of a conflict, is shown as it is.
        Err(_) => {
            let file = &arguments.notebook;
            let text = std::fs::read_to_string(file);
            print!(
                "{}",
                text.with_context(|| format!("reading {}", file.display()))?
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}
