//! `taper cuda`: cargo, or any other program, with what it needs to compile for NVIDIA GPUs.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use taper_host::checkout;
use taper_host::gpu;
use taper_host::progress::Console;

/// Run a command that compiles for NVIDIA GPUs: `taper cuda cargo test --features cuda`
///
/// It gets a CUDA toolkit: the one of the last set-up, a fitting one of the system, or one that is
/// installed now. What it builds starts on machines without a driver too.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The command with its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// Becomes the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let settings = gpu::for_cuda(&checkout::folder(), &mut Console::new())?;
    let (program, rest) = arguments.command.split_first().context("no command")?;
    let error = Command::new(program)
        .args(rest)
        .envs(settings.environment)
        .exec();
    Err(error).with_context(|| format!("starting {}", program.display()))
}
