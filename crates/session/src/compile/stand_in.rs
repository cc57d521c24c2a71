//! This program under the names of cargo, rustc, rustup and the wrapper of rustc.

use super::cell::Complete;
use super::question::Question;
use super::{cell, group, recorder, tools, variables, versions};
use crate::error::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use taper_host::error::Context as _;

/// A program in whose place this one was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandIn {
    /// evcxr and rust-analyzer call it.
    Cargo,
    /// rust-analyzer asks it about the target.
    Rustc,
    /// evcxr asks it where the tools are.
    Rustup,
    /// cargo calls it in place of rustc.
    Recorder,
}

/// The exit code that a shell reports for an interrupted program.
const STOPPED: u8 = 130;

impl StandIn {
    /// Returns the program under whose name this process was started, if it has such a name.
    pub(crate) fn of_this_process(program: &OsStr) -> Option<StandIn> {
        let is_set = |name: &str| std::env::var_os(name).is_some();
        match Path::new(program).file_name()?.to_str()? {
            "cargo" if is_set(variables::HOME_VARIABLE) => Some(StandIn::Cargo),
            "rustc" if is_set(variables::HOME_VARIABLE) => Some(StandIn::Rustc),
            "rustup" if is_set(variables::HOME_VARIABLE) => Some(StandIn::Rustup),
            recorder::NAME if is_set(recorder::FILE_VARIABLE) => Some(StandIn::Recorder),
            _ => None,
        }
    }

    /// Does what the program would do with these arguments. Calls `complete` with the work directory before
    /// cargo builds there.
    pub(crate) fn run(self, arguments: &[OsString], complete: Complete) -> Result<ExitCode> {
        match self {
            StandIn::Cargo => cargo(arguments, complete),
            StandIn::Rustc => rustc(arguments),
            StandIn::Rustup => rustup(arguments),
            StandIn::Recorder => recorder::run(arguments),
        }
    }
}

fn cargo(arguments: &[OsString], complete: Complete) -> Result<ExitCode> {
    let session = session()?;
    versions::keep(&session);
    if let Some(build) = cell::Build::asked(arguments, &session) {
        let leader = group::lead(&session).map_err(Error::system("lead a compilation"))?;
        return match leader {
            Some(_leader) => build.run(complete),
            None => Ok(ExitCode::from(STOPPED)),
        };
    }
    if let Some(question) = Question::of_cargo(arguments, &session) {
        return question.answer(&session);
    }
    complete(&session.join("work"))?;
    Ok(Err(tools::cargo(arguments).exec()).starting("cargo")?)
}

fn session() -> Result<PathBuf> {
    variables::session().ok_or(Error::Variable(variables::SESSION_VARIABLE))
}

fn rustc(arguments: &[OsString]) -> Result<ExitCode> {
    let session = session()?;
    match Question::of_rustc(arguments, &session) {
        Some(question) => question.answer(&session),
        None => Ok(Err(tools::rustc(arguments).exec()).starting("rustc")?),
    }
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
