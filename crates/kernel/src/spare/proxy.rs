//! The process that Jupyter started, when a spare does its work.

use super::process::{ENDED, INTERRUPT, TAKEN, Wanted};
use super::registry::{self, Place};
use super::{descriptors, patience};
use anyhow::Result;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// A spare that has not finished starting is still quicker than a new start; but not for ever.
const WAIT: Duration = Duration::from_secs(30);

/// Lets the spare serve this connection and waits until the kernel has ended; `None` when there is
/// no spare that fits.
///
/// # Errors
/// When the spare has ended without saying so.
pub fn adopt(connection_file: &Path) -> Result<Option<ExitCode>> {
    if patience().is_none() {
        return Ok(None);
    }
    let name = registry::name(&taper_session::image_key()?)?;
    let Some(spare) = Place::open()?.connect(&name) else {
        return Ok(None);
    };
    let Some(kernel) = hand_over(spare, connection_file) else {
        return Ok(None);
    };
    wait(kernel).map(Some)
}

/// `None` if the spare ended before it took the work.
fn hand_over(mut spare: UnixStream, connection_file: &Path) -> Option<UnixStream> {
    let wanted = serde_json::to_vec(&Wanted::from_here(connection_file).ok()?).ok()?;
    let streams = [libc::STDOUT_FILENO, libc::STDERR_FILENO];
    descriptors::send(&mut spare, &wanted, streams).ok()?;
    spare.set_read_timeout(Some(WAIT)).ok()?;
    let mut answer = [0];
    spare.read_exact(&mut answer).ok()?;
    spare.set_read_timeout(None).ok()?;
    (answer == [TAKEN]).then_some(spare)
}

fn wait(mut kernel: UnixStream) -> Result<ExitCode> {
    pass_on_interrupts(&kernel);
    let mut said = Vec::new();
    let _ = kernel.read_to_end(&mut said);
    match said[..] {
        [ENDED, code] => Ok(ExitCode::from(code)),
        _ => anyhow::bail!("the kernel's process has ended unexpectedly"),
    }
}

/// Where an interrupt goes.
static KERNEL: AtomicI32 = AtomicI32::new(-1);

/// The socket stays open as long as this process lives.
fn pass_on_interrupts(kernel: &UnixStream) {
    extern "C" fn on_interrupt(_signal: libc::c_int) {
        let byte = INTERRUPT;
        // SAFETY: `write` may be called in a signal handler.
        unsafe { libc::write(KERNEL.load(Ordering::Relaxed), (&raw const byte).cast(), 1) };
    }
    KERNEL.store(kernel.as_raw_fd(), Ordering::Relaxed);
    let handler = on_interrupt as extern "C" fn(libc::c_int);
    // SAFETY: the handler does one write. `signal` restarts the read that it disturbs.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
}
