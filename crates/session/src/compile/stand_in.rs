//! This program under the names of cargo, rustup and the wrapper of rustc.

use super::{cell, group, metadata, recorder, tools, variables, versions};
use crate::error::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use taper_host::error::Context as _;

/// A program in whose place this one was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandIn {
    /// evcxr and rust-analyzer call it.
    Cargo,
    /// evcxr asks it where the tools are.
    Rustup,
    /// cargo calls it in place of rustc.
    Recorder,
}

/// How a shell reports a program that was interrupted.
const STOPPED: u8 = 130;

impl StandIn {
    /// The program under whose name this process was started.
    pub(crate) fn of_this_process(program: &OsStr) -> Option<StandIn> {
        let is_set = |name: &str| std::env::var_os(name).is_some();
        match Path::new(program).file_name()?.to_str()? {
            "cargo" if is_set(variables::HOME_VARIABLE) => Some(StandIn::Cargo),
            "rustup" if is_set(variables::HOME_VARIABLE) => Some(StandIn::Rustup),
            recorder::NAME if is_set(recorder::FILE_VARIABLE) => Some(StandIn::Recorder),
            _ => None,
        }
    }

    /// Does what the program would do with these arguments.
    pub(crate) fn run(self, arguments: &[OsString]) -> Result<ExitCode> {
        match self {
            StandIn::Cargo => cargo(arguments),
            StandIn::Rustup => rustup(arguments),
            StandIn::Recorder => recorder::run(arguments),
        }
    }
}

fn cargo(arguments: &[OsString]) -> Result<ExitCode> {
    if let Some(session) = variables::session() {
        versions::keep(&session);
    }
    if let Some(build) = cell::Build::asked(arguments) {
        let no_session = Error::Variable(variables::SESSION_VARIABLE);
        let folder = variables::session().ok_or(no_session)?;
        let leader = group::lead(&folder).map_err(Error::system("lead a compilation"))?;
        return match leader {
            Some(_leader) => build.run(),
            None => Ok(ExitCode::from(STOPPED)),
        };
    }
    if arguments.iter().any(|argument| argument == "metadata") {
        return seen_metadata(arguments);
    }
    let mut command = match asked_of_rustc(arguments) {
        Some(question) => tools::rustc(question),
        None => tools::cargo(arguments),
    };
    Ok(Err(command.exec()).starting("cargo")?)
}

/// Answers `rustup which cargo` with this program and `rustup which rustc` with the session's compiler,
/// so evcxr finds the session's toolchain, with or without rustup.
fn rustup(arguments: &[OsString]) -> Result<ExitCode> {
    let program = match arguments {
        [which, tool] if which == "which" && tool == "cargo" => variables::program("cargo"),
        [which, tool] if which == "which" && tool == "rustc" => tools::session_rustc(),
        _ => None,
    };
    if let Some(program) = program {
        println!("{}", program.display());
        return Ok(ExitCode::SUCCESS);
    }
    Ok(Err(tools::command("rustup", arguments).exec()).starting("rustup")?)
}

fn seen_metadata(arguments: &[OsString]) -> Result<ExitCode> {
    let mut command = tools::cargo(arguments);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.starting("cargo")?;
    let seen = metadata::seen(&output.stdout).unwrap_or(output.stdout);
    let written = std::io::stdout().write_all(&seen);
    written.map_err(Error::system("pass on what cargo printed"))?;
    Ok(tools::exit_code(output.status))
}

/// `cargo rustc … --print cfg --target T -- …` asks rustc through cargo, which costs five calls of
/// rustc instead of one.
fn asked_of_rustc(arguments: &[OsString]) -> Option<impl Iterator<Item = &OsString>> {
    let (first, rest) = arguments.split_first()?;
    let is_question = first == "rustc" && rest.iter().any(|argument| argument == "--print");
    is_question.then(|| rest.iter().filter(|argument| *argument != "--"))
}
