//! `taper kernel`: runs the kernel; the kernelspec names this command.

use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use taper_kernel::serve;
use taper_session::workspace::Workspace;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file in which Jupyter names the ports on which the kernel listens
    #[arg(long, value_name = "FILE")]
    pub(crate) connection_file: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    taper_session::speak_as_in(Path::new(""));
    let work = Workspace::create()?;
    // SAFETY: `main` has started no thread yet.
    unsafe { work.enter() };
    let folder = work.path();
    let start = move || Ok(Box::new(taper_session::start_or_defer(work)?) as _);
    serve(
        &arguments.connection_file,
        taper_session::is_complete,
        start,
    )?;
    // A cell may still be running; its processes end with this one.
    Workspace::remove(&folder);
    Ok(ExitCode::SUCCESS)
}
