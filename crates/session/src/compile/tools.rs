//! The real cargo and rustc of a session, called without what leads evcxr to us.

use super::children;
use super::variables::CARGO_VARIABLE;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use taper_host::toolchain::RUSTC_VARIABLE;

/// The flags with which evcxr compiles.
const FLAGS: &str = "-Cprefer-dynamic";
/// Only small functions are copied from one of a crate's compilation units to another, to be inlined there: those
/// of 40 instructions, not 100. Candle and `taper` compile in 0.87 of the time. Of 55 operations, Taper's functions
/// and Candle's methods are as fast as before. The steps of Candle's optimisers, which Taper does not use, take
/// twice as long.
const SMALL_IMPORTS: &str = " -Cllvm-args=-import-instr-limit=40";

/// The session's cargo.
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

/// Those of evcxr, without the linker that it has found on the PATH; its usual ones if it has not set any,
/// because cargo asks rustc about the platform with the user's.
fn of_evcxr() -> String {
    let set = std::env::var("RUSTFLAGS").unwrap_or_default();
    match set.starts_with(FLAGS) {
        true => set.replace(" -Clink-arg=-fuse-ld=lld", ""),
        false => FLAGS.to_owned(),
    }
}

/// [`cargo`] for packages and cells.
pub(crate) fn build<'a>(arguments: impl IntoIterator<Item = &'a OsString>) -> Command {
    let mut command = cargo(arguments);
    let rustc = session_rustc().unwrap_or_else(|| "rustc".into());
    command.env("RUSTFLAGS", of_evcxr() + more_flags(&rustc));
    command
}

/// The flags with which this compiler compiles packages.
pub(crate) fn flags(rustc: &Path) -> String {
    FLAGS.to_owned() + more_flags(rustc)
}

/// The flags of builds beside those of evcxr. What is not promised to stay, like all of LLVM's, is asked for only
/// where the compiler knows it.
fn more_flags(rustc: &Path) -> &'static str {
    let mut asked = Command::new(rustc);
    asked.args(["--print", "cfg", SMALL_IMPORTS.trim()]);
    children::leave(&mut asked);
    let is_known = asked.output().is_ok_and(|output| output.status.success());
    if is_known { SMALL_IMPORTS } else { "" }
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
    children::leave(&mut command);
    command
}

/// The exit code of a program, as our own.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().map_or(1, |code| code as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_refuses_a_flag_is_not_given_it() {
        assert_eq!(more_flags(Path::new("false")), "");
        assert_eq!(more_flags(Path::new("no-such-compiler")), "");
        assert_eq!(more_flags(Path::new("true")), SMALL_IMPORTS);
    }
}
