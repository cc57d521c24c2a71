//! Calls the real cargo and rustc of a session, without the variables that lead evcxr to this program.

use super::children;
use super::variables::CARGO_VARIABLE;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};
use taper_host::toolchain::RUSTC_VARIABLE;

/// The flags with which evcxr compiles.
pub(crate) const FLAGS: &str = "-Cprefer-dynamic";

/// Returns a call of the session's cargo.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a OsString>) -> Command {
    let mut command = command(
        std::env::var_os(CARGO_VARIABLE).unwrap_or_else(|| "cargo".into()),
        arguments,
    );
    children::leave_builds(&mut command);
    command.env("RUSTFLAGS", of_evcxr());
    // Another one may be first on the PATH, or none.
    if let Some(rustc) = session_rustc() {
        command.env("RUSTC", rustc);
    }
    command
}

/// Returns evcxr's flags without the linker that evcxr has found on the PATH. If evcxr has not set any,
/// returns its usual flags, because cargo would ask rustc about the platform with the user's flags.
fn of_evcxr() -> String {
    let set = std::env::var("RUSTFLAGS").unwrap_or_default();
    match set.starts_with(FLAGS) {
        true => set.replace(" -Clink-arg=-fuse-ld=lld", ""),
        false => FLAGS.to_owned(),
    }
}

/// Returns a call of the session's compiler.
pub(crate) fn rustc<'a>(arguments: impl IntoIterator<Item = &'a OsString>) -> Command {
    let rustc = session_rustc().unwrap_or_else(|| "rustc".into());
    command(rustc, arguments)
}

/// Returns the path of the session's compiler.
pub(crate) fn session_rustc() -> Option<PathBuf> {
    std::env::var_os(RUSTC_VARIABLE).map(PathBuf::from)
}

/// Returns a call of a program with the user's own environment.
pub(crate) fn command<'a>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = &'a OsString>,
) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    children::leave(&mut command);
    command
}

/// Returns the exit code of a program, as that of this process.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().map_or(1, |code| code as u8))
}
