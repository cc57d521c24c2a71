//! `taper import`: makes a notebook of a file `.rs`.

use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::ExitCode;
use taper_notebook::read_script;

/// Make a notebook of a file `.rs` in the percent format, as `taper export --to FILE.rs` and jupytext write it.
///
/// A comment `// %%` begins each cell.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    /// The file.
    #[arg(value_name = "FILE.rs")]
    pub(crate) script: PathBuf,

    /// The notebook; without this, the file's name with the extension `.ipynb`.
    #[arg(long, value_name = "NOTEBOOK")]
    pub(crate) to: Option<PathBuf>,

    /// Replace the cells of a notebook that exists, and keep the outputs of those that are unchanged.
    #[arg(long)]
    pub(crate) update: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let script = &arguments.script;
    let named = arguments.to.clone();
    let notebook = named.unwrap_or_else(|| script.with_extension("ipynb"));
    if notebook == *script {
        bail!("{} is a notebook already", script.display());
    }
    read_script(script, &notebook, arguments.update)?;
    println!("{} is ready", notebook.display());
    Ok(ExitCode::SUCCESS)
}
