//! `taper kernel`: what the kernelspec starts.

use crate::image::work::WorkFolder;
use crate::progress::Console;
use crate::{home, kernel, standby};
use anyhow::Result;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The file in which Jupyter says where the kernel shall listen
    #[arg(long, value_name = "FILE")]
    pub connection_file: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(ended) = standby::adopt(&arguments.connection_file)? {
        return Ok(ended);
    }
    let work = WorkFolder::create()?;
    // SAFETY: `main` has started no thread yet.
    unsafe { work.enter() };
    let folder = work.path();
    kernel::serve(&arguments.connection_file, None, move || {
        let session = home::start_session(work, &mut Console::new())?;
        standby::start_later();
        Ok(Box::new(session))
    })?;
    // The session may be stuck in a cell; its processes end with this one.
    WorkFolder::remove(&folder);
    Ok(ExitCode::SUCCESS)
}
