//! This program under the name of cargo, for rust-analyzer alone.

use super::metadata;
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Whether this process was started under the name of cargo.
pub fn is_called(program: &OsStr) -> bool {
    Path::new(program).file_name() == Some(OsStr::new("cargo"))
        && std::env::var_os(super::HOME_VARIABLE).is_some()
}

/// Does what cargo would do with these arguments.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let mut command = match asked_of_rustc(arguments) {
        Some(question) => tool("rustc", question),
        None => tool("cargo", arguments),
    };
    if !arguments.iter().any(|argument| argument == "metadata") {
        return Err(command.exec()).context("starting cargo");
    }
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.context("starting cargo")?;
    let seen = metadata::seen(&output.stdout).unwrap_or(output.stdout);
    std::io::stdout().write_all(&seen)?;
    Ok(ExitCode::from(
        output.status.code().map_or(1, |code| code as u8),
    ))
}

/// `cargo rustc … --print cfg --target T -- …` asks rustc through cargo, which costs five calls of
/// rustc instead of one.
fn asked_of_rustc(arguments: &[OsString]) -> Option<impl Iterator<Item = &OsString>> {
    let (first, rest) = arguments.split_first()?;
    let is_question = first == "rustc" && rest.iter().any(|argument| argument == "--print");
    is_question.then(|| rest.iter().filter(|argument| *argument != "--"))
}

/// The real one. rust-analyzer names the toolchain's folder, which spares us rustup.
fn tool<'a>(name: &str, arguments: impl IntoIterator<Item = &'a OsString>) -> Command {
    let toolchain = std::env::var_os("RUSTUP_TOOLCHAIN").map(PathBuf::from);
    let direct = toolchain.map(|folder| folder.join("bin").join(name));
    let program = direct.filter(|program| program.is_absolute() && program.is_file());
    let mut command = Command::new(program.unwrap_or_else(|| PathBuf::from(name)));
    command.args(arguments);
    super::leave(&mut command);
    command
}
