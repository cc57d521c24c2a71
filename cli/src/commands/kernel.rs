//! `taper kernel`: what the kernelspec starts.

use anyhow::Result;
use std::path::PathBuf;
use std::process::ExitCode;
use taper_host::progress::Console;
use taper_kernel::{serve, spare};
use taper_session::workspace::Workspace;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The file in which Jupyter says where the kernel shall listen
    #[arg(long, value_name = "FILE")]
    pub connection_file: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(ended) = spare::adopt(&arguments.connection_file)? {
        return Ok(ended);
    }
    let work = Workspace::create()?;
    // SAFETY: `main` has started no thread yet.
    unsafe { work.enter() }?;
    let folder = work.path();
    serve(&arguments.connection_file, move || {
        let session = taper_session::start_session(work, &mut Console::new())?;
        spare::start_later();
        Ok(Box::new(session))
    })?;
    // The session may be stuck in a cell; its processes end with this one.
    Workspace::remove(&folder);
    Ok(ExitCode::SUCCESS)
}
