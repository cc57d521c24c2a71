//! `taper export`: converts notebooks to a plain cargo project, or one notebook to a file `.rs`.

use crate::program_name::program_name;
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use taper_host::checkout;
use taper_notebook::{Notebook, Program, write_jobs, write_project, write_script};
use taper_session::workspace::CARGO_CONFIG;

/// Export notebooks as a plain cargo project, to run them without Jupyter; or one as a file `.rs`, to edit it as text.
///
/// The folder holds one program for each notebook and a copy of the crate `taper`; it can be copied
/// to any machine with Rust. A program shows its cells on the terminal. With its output in a file it
/// writes a log, which `taper run NOTEBOOK --outputs LOG --inplace` puts into the notebook.
///
/// A file `.rs` has the percent format, which jupytext and editors read: a comment `// %%` begins each cell, and text and
/// commands are comments. It keeps no outputs. `taper run` and `taper test` run it, and `taper import` makes a notebook of it.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    /// The notebooks.
    #[arg(required = true, value_name = "NOTEBOOK")]
    pub(crate) notebooks: Vec<PathBuf>,

    /// The folder of the project, or the file `.rs`.
    #[arg(long, value_name = "FOLDER|FILE.rs")]
    pub(crate) to: PathBuf,

    /// Also write job files for several processes: for Slurm, SkyPilot, and Kubernetes.
    #[arg(long)]
    pub(crate) distributed: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.to.extension().is_some_and(|end| end == "rs") && !arguments.to.is_dir() {
        return script(arguments);
    }
    let mut programs = BTreeMap::new();
    for path in &arguments.notebooks {
        let mut name = program_name(path)?;
        if programs.contains_key(&name) {
            name = with_folder(path, &name)?;
        }
        let program = Program::new(&name, &Notebook::load(path)?);
        for warning in &program.warnings {
            eprintln!("{}: {warning}", path.display());
        }
        if programs.insert(name.clone(), program).is_some() {
            bail!("two notebooks have the name {name}\nExport them into two folders");
        }
    }
    write_project(&arguments.to, &checkout::folder()?, CARGO_CONFIG, &programs)?;
    let folder = arguments.to.display();
    let name = programs.keys().next().context("no notebook is named")?;
    if arguments.distributed {
        write_jobs(&arguments.to, programs.keys().map(String::as_str))?;
        println!(
            "{folder} is ready, with job files in {folder}/jobs. To train with two processes of this machine:\n\
             cd {folder} && cargo build --release --features mpi && mpirun -n 2 target/release/{name}"
        );
    } else {
        println!("{folder} is ready. Next: cd {folder} && cargo run --release --bin {name}");
    }
    Ok(ExitCode::SUCCESS)
}

fn script(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let file = arguments.to.display();
    let [notebook] = &arguments.notebooks[..] else {
        bail!("{file} is a file for one notebook\nName one notebook, or a folder: --to FOLDER");
    };
    if arguments.distributed {
        bail!("--distributed is for a project\nName a folder: --to FOLDER");
    }
    for warning in write_script(notebook, &arguments.to)? {
        eprintln!("{}: {warning}", notebook.display());
    }
    println!(
        "{file} is ready, without outputs. Run it: taper run {file}; make a notebook of it: taper import {file}"
    );
    Ok(ExitCode::SUCCESS)
}

/// Returns the name for a notebook whose own is taken: `solutions-gpus` for `solutions/33-gpus.ipynb`.
fn with_folder(path: &Path, name: &str) -> anyhow::Result<String> {
    let path = std::path::absolute(path)?;
    let folder = path.parent().context("the notebook has no folder")?;
    Ok(format!("{}-{name}", program_name(folder)?))
}
