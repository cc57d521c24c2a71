//! What this program does as one of a session's processes.

use crate::compile::StandIn;
use crate::error::Result;
use crate::{first_cell, image, relay};
use std::ffi::OsString;
use std::process::ExitCode;
use taper_host::process;

/// Runs the task of a session's process: a replacement of cargo or rustup, the relay, the cells
/// process, the supervisor of another program, or the first cell of an image. Returns `None` if this
/// process is none of them.
///
/// `main` calls it with all arguments, the program's name included, before it starts a thread.
pub fn hook(arguments: &[OsString]) -> Option<Result<ExitCode>> {
    let (program, rest) = arguments.split_first()?;
    if let Some(tool) = StandIn::of_this_process(program) {
        return Some(tool.run(rest, &image::complete));
    }
    if let Some(code) = taper_engine::hook(arguments, &relay::OwnCells) {
        return Some(Ok(code));
    }
    match rest.first()?.to_str()? {
        relay::RELAY_ARGUMENT => relay::process::run(),
        relay::CELLS_ARGUMENT => relay::cells::run(),
        process::SUPERVISOR_ARGUMENT => Some(process::supervise().map_err(Into::into)),
        image::WARM_ARGUMENT => Some(first_cell::run(&rest[1..]).map(|()| ExitCode::SUCCESS)),
        _ => None,
    }
}
