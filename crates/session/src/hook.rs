//! What this program does as one of a session's processes.

use crate::{cells, first_cell, image};
use anyhow::Result;
use std::ffi::OsString;
use std::process::ExitCode;
use taper_host::process;

/// Runs the task of a session's process: the cells process, the supervisor of another program, or the first cell of
/// an image. Returns `None` if this process is none of them.
///
/// `main` calls it with all arguments, the program's name included, before it starts a thread.
pub fn hook(arguments: &[OsString]) -> Option<Result<ExitCode>> {
    let (_, rest) = arguments.split_first()?;
    #[cfg(feature = "evcxr")]
    {
        if std::env::var_os("EVCXR_IS_RUNTIME").is_some()
            && let Err(error) = cells::limit_memory()
        {
            return Some(Err(error));
        }
        evcxr::runtime_hook();
    }
    if let Some(code) = taper_engine::hook(arguments, &cells::OurCells) {
        return Some(Ok(code));
    }
    if let Some(ended) = image::taken::hook(arguments) {
        return Some(ended);
    }
    match rest.first()?.to_str()? {
        process::SUPERVISOR_ARGUMENT => Some(process::supervise()),
        image::WARM_ARGUMENT => Some(first_cell::run(&rest[1..]).map(|_| ExitCode::SUCCESS)),
        image::TRY_ARGUMENT => Some(first_cell::try_holds(&rest[1..]).map(|()| ExitCode::SUCCESS)),
        _ => None,
    }
}
