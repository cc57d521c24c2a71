//! This program under the names of cargo and rustup.

use super::{cell, metadata, versions};
use anyhow::{Context, Result};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

/// One of the tools in whose place we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Cargo,
    Rustup,
}

impl Tool {
    /// The one under whose name this process was started.
    pub fn of_this_process(program: &OsStr) -> Option<Tool> {
        std::env::var_os(super::HOME_VARIABLE)?;
        match Path::new(program).file_name()?.to_str()? {
            "cargo" => Some(Tool::Cargo),
            "rustup" => Some(Tool::Rustup),
            _ => None,
        }
    }

    /// Does what the tool would do with these arguments.
    pub fn run(self, arguments: &[OsString]) -> Result<ExitCode> {
        match self {
            Tool::Cargo => cargo(arguments),
            Tool::Rustup => rustup(arguments),
        }
    }
}

fn cargo(arguments: &[OsString]) -> Result<ExitCode> {
    if let Some(session) = session() {
        versions::keep(&session);
    }
    if let Some(build) = cell::Build::asked(arguments) {
        return build.run();
    }
    if arguments.iter().any(|argument| argument == "metadata") {
        return seen_metadata(arguments);
    }
    let mut command = match asked_of_rustc(arguments) {
        Some(question) => real("rustc", question),
        None => real("cargo", arguments),
    };
    Err(command.exec()).context("starting cargo")
}

/// The folder of the session whose cargo we are.
fn session() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("CARGO_HOME")?);
    home.parent().map(Path::to_owned)
}

/// `rustup which cargo`: we are.
fn rustup(arguments: &[OsString]) -> Result<ExitCode> {
    let home = std::env::var_os("CARGO_HOME").filter(|_| arguments == ["which", "cargo"]);
    if let Some(home) = home {
        println!("{}", Path::new(&home).join("bin/cargo").display());
        return Ok(ExitCode::SUCCESS);
    }
    Err(real("rustup", arguments).exec()).context("starting rustup")
}

fn seen_metadata(arguments: &[OsString]) -> Result<ExitCode> {
    let mut command = real("cargo", arguments);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.context("starting cargo")?;
    let seen = metadata::seen(&output.stdout).unwrap_or(output.stdout);
    std::io::stdout().write_all(&seen)?;
    Ok(like(output.status))
}

/// The exit code of a program, as our own.
pub fn like(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().map_or(1, |code| code as u8))
}

/// `cargo rustc … --print cfg --target T -- …` asks rustc through cargo, which costs five calls of
/// rustc instead of one.
fn asked_of_rustc(arguments: &[OsString]) -> Option<impl Iterator<Item = &OsString>> {
    let (first, rest) = arguments.split_first()?;
    let is_question = first == "rustc" && rest.iter().any(|argument| argument == "--print");
    is_question.then(|| rest.iter().filter(|argument| *argument != "--"))
}

/// The real tool. evcxr names rustc and rust-analyzer the toolchain's folder, which spares us
/// rustup.
pub fn real<'a>(name: &str, arguments: impl IntoIterator<Item = &'a OsString>) -> Command {
    let rustc = std::env::var_os("RUSTC").map(PathBuf::from);
    let toolchain = std::env::var_os("RUSTUP_TOOLCHAIN").map(PathBuf::from);
    let beside_rustc = rustc.and_then(|rustc| Some(rustc.parent()?.join(name)));
    let folders = beside_rustc
        .into_iter()
        .chain(toolchain.map(|folder| folder.join("bin").join(name)));
    let mut direct = folders.filter(|program| program.is_absolute() && program.is_file());
    let mut command = Command::new(direct.next().unwrap_or_else(|| PathBuf::from(name)));
    command.args(arguments);
    super::leave(&mut command);
    command
}
