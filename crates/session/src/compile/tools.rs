//! Calls the real cargo and rustc of a session, without the variables that lead evcxr to this program.

use super::children;
use super::variables::CARGO_VARIABLE;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use taper_host::toolchain::RUSTC_VARIABLE;

/// The flags with which evcxr compiles.
const FLAGS: &str = "-Cprefer-dynamic";
/// Lets LLVM import functions from another codegen unit of a crate, to inline them, only if they have at
/// most 40 instructions, not 100. Candle and `taper` compile in 0.87 of the time. In a measurement of 55
/// operations, Taper's functions and Candle's methods are as fast as before. The steps of Candle's
/// optimisers, which Taper does not use, take twice as long.
const SMALL_IMPORTS: &str = " -Cllvm-args=-import-instr-limit=40";

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

/// Returns a call of the session's cargo that compiles packages and cells.
pub(crate) fn build<'a>(arguments: impl IntoIterator<Item = &'a OsString>) -> Command {
    let mut command = cargo(arguments);
    let rustc = session_rustc().unwrap_or_else(|| "rustc".into());
    command.env("RUSTFLAGS", of_evcxr() + more_flags(&rustc));
    command
}

/// Returns the flags with which this compiler compiles packages.
pub(crate) fn flags(rustc: &Path) -> String {
    FLAGS.to_owned() + more_flags(rustc)
}

/// Returns the flags for builds in addition to evcxr's. LLVM's options are not stable, so they are used
/// only if the compiler accepts them.
fn more_flags(rustc: &Path) -> &'static str {
    let mut asked = Command::new(rustc);
    asked.args(["--print", "cfg", SMALL_IMPORTS.trim()]);
    children::leave(&mut asked);
    let is_known = asked.output().is_ok_and(|output| output.status.success());
    if is_known { SMALL_IMPORTS } else { "" }
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
