//! Records the call with which cargo compiles a cell.
//!
//! Cargo calls this program in place of rustc for the cells' crate alone (`RUSTC_WORKSPACE_WRAPPER`),
//! so what is recorded are the very arguments and variables of that call, whatever cargo's folders and
//! messages look like. Cargo also calls it to ask rustc questions; these are passed on.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use taper_host::cache;
use taper_host::error::Context as _;

/// The name under which cargo calls this program.
pub(crate) const NAME: &str = "taper-recorder";
/// The variable that names the file in which the call is recorded.
pub(crate) const FILE_VARIABLE: &str = "TAPER_RECORD";
/// The variable that names the user's own wrapper, which the recorder calls in turn.
const NEXT_VARIABLE: &str = "TAPER_NEXT_WRAPPER";
/// The variable by which cargo finds a wrapper.
const WRAPPER_VARIABLE: &str = "RUSTC_WORKSPACE_WRAPPER";
/// The name of a cell's crate, which evcxr sets.
pub(crate) const CRATE: &str = "ctx";

/// A call of rustc.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    /// The program and its arguments.
    pub(crate) arguments: Vec<OsString>,
    /// All of its environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// The folder in which it was made.
    pub(crate) folder: PathBuf,
}

/// Makes `cargo` call the recorder at `program`, which writes to `file`.
pub(crate) fn attach(cargo: &mut Command, program: &Path, file: &Path) {
    if let Some(next) = own_wrapper() {
        cargo.env(NEXT_VARIABLE, next);
    }
    cargo
        .env(WRAPPER_VARIABLE, program)
        .env(FILE_VARIABLE, file);
}

/// Returns the wrapper that the user has set in the configuration of cargo's home.
fn own_wrapper() -> Option<OsString> {
    let config = std::fs::read_to_string(super::variables::cargo_home()?.join("config.toml"));
    let config: toml::Table = config.ok()?.parse().ok()?;
    let wrapper = config.get("build")?.get("rustc-workspace-wrapper")?;
    Some(wrapper.as_str()?.into())
}

/// Runs `taper-recorder RUSTC ARGUMENTS…`: records the call of rustc, and makes it.
pub(crate) fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let next = std::env::var_os(NEXT_VARIABLE);
    let call: Vec<OsString> = next.into_iter().chain(arguments.iter().cloned()).collect();
    if compiles_the_cell(arguments)
        && let Some(file) = std::env::var_os(FILE_VARIABLE)
    {
        // Without a record the next cell goes through cargo as well.
        let _ = record(&call, Path::new(&file));
    }
    let call_of_rustc = Error::Arguments("a call of rustc");
    let (program, rest) = call.split_first().ok_or(call_of_rustc)?;
    let mut command = Command::new(program);
    command.args(rest);
    for name in [NEXT_VARIABLE, FILE_VARIABLE] {
        command.env_remove(name);
    }
    Ok(Err(command.exec()).starting(program)?)
}

fn compiles_the_cell(arguments: &[OsString]) -> bool {
    let mut pairs = arguments.windows(2);
    std::env::var_os("CARGO_PRIMARY_PACKAGE").is_some()
        && pairs.any(|pair| pair[0] == "--crate-name" && pair[1] == CRATE)
}

fn record(call: &[OsString], file: &Path) -> Result<()> {
    let ours = [NEXT_VARIABLE, FILE_VARIABLE].map(OsStr::new);
    let call = Call {
        arguments: call.to_vec(),
        environment: std::env::vars_os()
            .filter(|(name, _)| !ours.contains(&name.as_os_str()))
            .collect(),
        folder: std::env::current_dir().map_err(Error::system("find the current folder"))?,
    };
    let call = serde_json::to_vec(&call).map_err(Error::json("a call of rustc"))?;
    Ok(cache::write_atomically(file, &call)?)
}
