//! `taper image`: moves the compiled packages to another machine.

use crate::setup::images;
use anyhow::Result;
use std::path::PathBuf;
use std::process::ExitCode;
use taper_host::progress::{Console, Progress};
use taper_host::{checkout, gpu, toolchain};
use taper_session::image::Image;

/// Move the compiled packages to another machine with the same Rust and the same Taper.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Write the compiled packages into a file
    Export {
        /// The file
        file: PathBuf,
        /// Add the file to this index, which `TAPER_IMAGES` can name
        #[arg(long, value_name = "FILE")]
        index: Option<PathBuf>,
    },
    /// Use the compiled packages from a file, instead of compiling them
    Import {
        /// The file that `taper image export` wrote
        file: PathBuf,
        /// Refuse a file with another SHA-256
        #[arg(long, value_name = "HEX")]
        sha256: Option<String>,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut progress = Console::new();
    gpu::settings(&checkout::folder()?, &mut progress)?;
    let key = taper_session::image_key()?;
    match &arguments.action {
        Action::Export { file, index } => {
            let sha256 = Image::export(&key, file)?;
            if let Some(index) = index {
                images::list(&key, file, &sha256, index)?;
            }
            println!("{sha256}  {}", file.display());
        }
        Action::Import { file, sha256 } => {
            Image::import(&key, file, sha256.as_deref(), &mut progress)?;
            toolchain::get()?.remember()?;
            progress.line("The compiled packages are ready.");
        }
    }
    Ok(ExitCode::SUCCESS)
}
