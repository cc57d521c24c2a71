//! The real cargo and rustc of a session, called without what leads evcxr to us.

use super::variables::{self, CARGO_VARIABLE};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};
use taper_host::toolchain::RUSTC_VARIABLE;

/// The session's cargo.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a OsString>) -> Command {
    let mut command = command(
        std::env::var_os(CARGO_VARIABLE).unwrap_or_else(|| "cargo".into()),
        arguments,
    );
    // It would win over the flags that evcxr sets.
    command.env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

/// The session's compiler.
pub(crate) fn rustc<'a>(arguments: impl IntoIterator<Item = &'a OsString>) -> Command {
    let rustc = session_rustc().unwrap_or_else(|| "rustc".into());
    command(rustc, arguments)
}

/// Where the session's compiler is.
pub(crate) fn session_rustc() -> Option<PathBuf> {
    std::env::var_os(RUSTC_VARIABLE).map(PathBuf::from)
}

/// A program that finds the user's own environment.
pub(crate) fn command<'a>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = &'a OsString>,
) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    variables::leave(&mut command);
    command
}

/// The exit code of a program, as our own.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().map_or(1, |code| code as u8))
}
