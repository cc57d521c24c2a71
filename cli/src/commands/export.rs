//! `taper export`: notebooks as a plain cargo project.

use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use taper_host::checkout;
use taper_notebook::{Notebook, Program, write_project};
use taper_session::workspace::CARGO_CONFIG;

/// Make notebooks a plain cargo project, to run them where there is no Jupyter.
///
/// The folder holds one program for each notebook and a copy of the crate `taper`; it can be copied
/// to any machine with Rust. A program shows its cells on the terminal. With its output in a file it
/// writes a log, which `taper run NOTEBOOK --outputs LOG --inplace` puts into the notebook.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// The notebooks.
    #[arg(required = true, value_name = "NOTEBOOK")]
    pub notebooks: Vec<PathBuf>,

    /// The folder of the project.
    #[arg(long, value_name = "FOLDER")]
    pub to: PathBuf,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut programs = BTreeMap::new();
    for path in &arguments.notebooks {
        let mut name = name_of(path)?;
        if programs.contains_key(&name) {
            name = with_folder(path, &name)?;
        }
        let program = Program::new(&name, &Notebook::load(path)?);
        for warning in &program.warnings {
            eprintln!("{}: {warning}", path.display());
        }
        if programs.insert(name.clone(), program).is_some() {
            bail!("two notebooks are called {name}\nExport them into two folders");
        }
    }
    write_project(&arguments.to, &checkout::folder(), CARGO_CONFIG, &programs)?;
    let folder = arguments.to.display();
    let name = programs.keys().next().context("no notebook")?;
    println!("{folder} is ready. Next: cd {folder} && cargo run --release --bin {name}");
    Ok(ExitCode::SUCCESS)
}

/// For a notebook whose name is taken: `solutions/09-gpus.ipynb` becomes `solutions-gpus`.
fn with_folder(path: &Path, name: &str) -> anyhow::Result<String> {
    let path = std::path::absolute(path)?;
    let folder = path.parent().context("a notebook lies in a folder")?;
    Ok(format!("{}-{name}", name_of(folder)?))
}

/// The program's name: that of the file without its number, in the letters that Cargo allows.
pub(super) fn name_of(path: &Path) -> anyhow::Result<String> {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let name: String = without_number(stem.unwrap_or_default())
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        bail!(
            "{} gives no name for a program\nThe name of the notebook must begin with a letter, or with a number, - and a letter",
            path.display()
        );
    }
    Ok(name)
}

/// `gpus` for `09-gpus`: Cargo allows no digit at the start, and a chapter's program keeps its name
/// when chapters are renumbered.
fn without_number(stem: &str) -> &str {
    match stem.split_once('-') {
        Some((number, name)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_after_its_notebook_without_the_number() {
        for (notebook, name) in [
            ("notebooks/09-gpus.ipynb", "gpus"),
            ("notebooks/11-ai-on-a-gpu.ipynb", "ai-on-a-gpu"),
            ("first try.ipynb", "first_try"),
            ("a-2.ipynb", "a-2"),
        ] {
            assert_eq!(name_of(Path::new(notebook)).expect(notebook), name);
        }
        for notebook in ["09.ipynb", "09-.ipynb", "3d.ipynb"] {
            let message = name_of(Path::new(notebook))
                .expect_err(notebook)
                .to_string();
            assert!(
                message.starts_with(&format!("{notebook} gives no name")),
                "{message}"
            );
        }
    }
}
