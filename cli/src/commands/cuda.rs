//! `taper cuda`: runs cargo, or any other program, with what it needs to compile for NVIDIA GPUs.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use taper_host::checkout;
use taper_host::gpu;
use taper_host::progress::Console;

/// Run a command that compiles for NVIDIA GPUs: `taper cuda cargo test --features cuda`
///
/// The command finds a CUDA toolkit: that of the last set-up, a suitable one of the system, or else it
/// is installed now. What it builds also starts on machines without a driver.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The command with its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// Becomes the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let settings = gpu::for_cuda(&checkout::folder()?, &mut Console::new())?;
    let (program, rest) = arguments.command.split_first().context("no command")?;
    let error = Command::new(program)
        .args(rest)
        .envs(settings.environment)
        .exec();
    Err(error).with_context(|| format!("starting {}", program.display()))
}
