//! The start of a spare, in the background.

use super::settings::idle_timeout;
use crate::error::{Error, Result, chain};
use std::process::{Command, Stdio};
use std::time::Duration;
use taper_host::process;
use taper_session::environment;

/// The first argument with which the program `taper` becomes a spare.
pub const ARGUMENT: &str = "__standby";

/// Follows [`ARGUMENT`] in the process that is the spare.
pub(super) const DETACHED: &str = "detached";

/// How long to wait after the start of a kernel before a spare is started: the first cells have priority.
const DELAY: Duration = Duration::from_secs(2);

/// Starts a spare unless a spare is running. The spare outlives this process.
///
/// # Errors
/// When the program cannot be started a second time.
pub fn start() -> Result<()> {
    if idle_timeout().is_none() {
        return Ok(());
    }
    let mut command = command()?;
    environment::for_user(&mut command);
    // The command starts the spare and ends, so that the spare is not a child of this process.
    command
        .status()
        .map_err(Error::io("start a spare kernel"))?;
    Ok(())
}

/// Starts a spare two seconds later, on a thread of its own.
pub fn start_later() {
    if idle_timeout().is_none() {
        return;
    }
    std::thread::spawn(|| {
        std::thread::sleep(DELAY);
        if let Err(error) = start() {
            eprintln!("taper: {}", chain(&error));
        }
    });
}

/// Starts the process that is the spare.
pub(super) fn start_detached() -> Result<()> {
    let mut command = command()?;
    command.arg(DETACHED);
    command.spawn().map_err(Error::io("start a spare kernel"))?;
    Ok(())
}

fn command() -> Result<Command> {
    let mut command = Command::new(process::program().map_err(Error::session)?);
    command
        .arg(ARGUMENT)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(command)
}
