//! The processes of a session that are our own program.

use crate::compile::StandIn;
use crate::{image, relay, warm};
use anyhow::Result;
use std::ffi::OsString;
use std::process::ExitCode;
use taper_host::process;

/// Does what this process was started for, if it is one of a session's: a tool in place of cargo or
/// rustup, the relay, the process in which cells run, a guard, the first cell of an image. `None` if it
/// is none of them.
///
/// `main` calls it first, with all arguments, before it starts a thread.
pub fn hook(arguments: &[OsString]) -> Option<Result<ExitCode>> {
    let (program, rest) = arguments.split_first()?;
    if let Some(tool) = StandIn::of_this_process(program) {
        return Some(tool.run(rest));
    }
    match rest.first()?.to_str()? {
        relay::RELAY_ARGUMENT => relay::process::run(),
        relay::CELLS_ARGUMENT => relay::cells::run(),
        process::SUPERVISOR_ARGUMENT => Some(process::supervise().map_err(Into::into)),
        image::WARM_ARGUMENT => Some(warm::run(&rest[1..]).map(|()| ExitCode::SUCCESS)),
        _ => None,
    }
}
