//! `taper setup`

use crate::home;
use crate::image::{Condition, Image};
use crate::progress::{Console, Progress};
use crate::setup;
use anyhow::Result;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// An existing `jupyter` to use instead of one of Taper's own
    #[arg(long, value_name = "PATH")]
    pub jupyter: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut progress = Console::new();
    // A set-up that is asked for looks closer than the start of a kernel.
    if let Condition::Damaged(file) = Image::verify(&home::image_key()?, &mut progress)? {
        progress.line(&format!(
            "The compiled packages are damaged ({}): building them again.",
            file.display()
        ));
    }
    let jupyter = setup::all(arguments.jupyter.as_deref(), &mut progress)?;
    progress.line(&format!(
        "Taper is ready: {} knows the kernel \"{}\". Next: cargo taper lab notebooks/welcome.ipynb",
        jupyter.program.display(),
        setup::kernelspec::DISPLAY_NAME
    ));
    Ok(ExitCode::SUCCESS)
}
