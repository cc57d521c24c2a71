//! What this program does as the process that runs the cells.

use crate::process::cells;
use crate::process::host::Host;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs cells, if this process was started for that; returns `None` in any other process.
///
/// `main` calls it with all arguments, the program's name included, before it starts a thread.
pub fn hook(arguments: &[OsString], host: &'static (dyn Host + Sync)) -> Option<ExitCode> {
    let is_ours = arguments
        .get(1)
        .is_some_and(|argument| argument == cells::ARGUMENT);
    is_ours.then(|| cells::run(host))
}
