//! `taper publish`: writes a notebook as one page that needs no server.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use taper_book::Publication;
use taper_host::cache;

/// Write a notebook as one page that needs no server.
///
/// The page is the file `index.html` in a folder. It shows the outputs that the notebook has; nothing is run for them.
/// Sliders of `interact` work: the notebook is run once, and their callbacks are computed at many positions. A cell with
/// the tag `publish-model`, whose value is a trained model and which has a line such as `// Input: 1, 28, 28`, becomes a
/// place where readers try the model: the notebook is run, and the page holds the model's weights and a program in
/// WebAssembly. A line such as `// Labels: cat, dog` names the classes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    /// The notebook.
    pub(crate) notebook: PathBuf,

    /// The folder into which the page is written.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) to: PathBuf,

    /// The positions of a slider; several sliders of one callback have fewer each.
    #[arg(long, default_value_t = 25, value_name = "N",
          value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub(crate) frames: u16,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let publication = Publication::read(&arguments.notebook)?;
    let models = tempfile::tempdir()?;
    let ran = match publication.to_run(models.path()) {
        Some(text) => Some(outputs_of(&arguments.notebook, &text, arguments.frames)?),
        None => None,
    };
    let page = publication.page(ran.as_ref(), models.path())?;
    for warning in &page.warnings {
        eprintln!("{warning}");
    }
    cache::make(&arguments.to)?;
    let file = arguments.to.join("index.html");
    fs::write(&file, &page.html).with_context(|| format!("writing {}", file.display()))?;
    println!("{}: {} KB", file.display(), page.html.len() / 1000);
    Ok(ExitCode::SUCCESS)
}

/// Runs the text of a notebook in the folder of the notebook, with frames of its sliders; returns the notebook with its
/// outputs.
pub(crate) fn outputs_of(notebook: &Path, text: &str, frames: u16) -> Result<serde_json::Value> {
    let absolute = std::path::absolute(notebook)?;
    // Beside the notebook, so that the paths in its cells mean the same.
    let folder = absolute.parent().context("the notebook has no folder")?;
    let file = tempfile::Builder::new()
        .prefix(".publish-")
        .suffix(".ipynb")
        .tempfile_in(folder)?;
    fs::write(file.path(), text)?;
    eprintln!(
        "Running {}, for its sliders and models.",
        notebook.display()
    );
    let status = Command::new(std::env::current_exe().context("finding this program")?)
        .args(["run", "--inplace"])
        .arg(file.path())
        .env("TAPER_FRAMES", frames.to_string())
        .status()?;
    if !status.success() {
        bail!("{} was not published: its run failed", notebook.display());
    }
    serde_json::from_slice(&fs::read(file.path())?).context("reading the outputs of the run")
}
