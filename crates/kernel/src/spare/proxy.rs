//! The proxy: the process that Jupyter started, when a spare serves the kernel.

use super::fingerprint::fingerprint;
use super::handover::{ENDED, INTERRUPT, Launch, SERVING};
use super::registry::Registry;
use super::settings::idle_timeout;
use crate::error::{Error, Result, chain};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// How long to wait for a spare that is still starting, which is faster than a new start.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(30);

/// Lets the spare serve this connection and returns the kernel's exit code when it has ended. Returns
/// `None` if no spare fits, or if it ends before it serves; no thread has been started then.
///
/// # Errors
/// When the fingerprint cannot be computed, or the spare ends without an exit code.
pub fn adopt(connection_file: &Path) -> Result<Option<ExitCode>> {
    if idle_timeout().is_none() {
        return Ok(None);
    }
    let key = taper_session::image_key().map_err(Error::session)?;
    let fingerprint = fingerprint(&key)?;
    let registry = match Registry::open() {
        Ok(registry) => registry,
        Err(error) => {
            eprintln!("taper: no spare kernel: {}", chain(&error));
            return Ok(None);
        }
    };
    let Some(spare) = registry.connect(&fingerprint) else {
        return Ok(None);
    };
    let Some(kernel) = hand_over(spare, connection_file) else {
        return Ok(None);
    };
    wait(kernel).map(Some)
}

/// Sends the launch to the spare and returns the connection to it; `None` if the spare ended before it
/// served, or did not answer in time.
fn hand_over(mut spare: UnixStream, connection_file: &Path) -> Option<UnixStream> {
    let launch = Launch::of_this_process(connection_file).ok()?;
    launch.send(&mut spare).ok()?;
    spare.set_read_timeout(Some(HANDOVER_TIMEOUT)).ok()?;
    let mut answer = [0];
    spare.read_exact(&mut answer).ok()?;
    spare.set_read_timeout(None).ok()?;
    (answer == [SERVING]).then_some(spare)
}

/// Passes interrupts to the kernel until it ends, and returns its exit code.
fn wait(kernel: UnixStream) -> Result<ExitCode> {
    let failed = || Error::io("wait for the kernel");
    let mut reader = kernel.try_clone().map_err(failed())?;
    let (ended, mut end) = oneshot::channel();
    std::thread::spawn(move || {
        let mut message = Vec::new();
        let _ = reader.read_to_end(&mut message);
        let _ = ended.send(message);
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed())?;
    let message = runtime.block_on(async {
        let mut interrupts = signal(SignalKind::interrupt()).map_err(failed())?;
        loop {
            tokio::select! {
                _ = interrupts.recv() => {
                    // The write fails when the kernel has just ended.
                    let _ = (&kernel).write_all(&[INTERRUPT]);
                }
                message = &mut end => return Ok(message.unwrap_or_default()),
            }
        }
    })?;
    match message[..] {
        [ENDED, code] => Ok(ExitCode::from(code)),
        _ => Err(Error::SpareEnded),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};

    #[tokio::test]
    async fn interrupts_and_the_exit_code_are_passed_on() {
        let (proxy, mut kernel) = UnixStream::pair().expect("two sockets");
        // From here on, SIGINT does not end this process.
        let _handler = signal(SignalKind::interrupt()).expect("a handler");
        let waiting = std::thread::spawn(move || wait(proxy));
        let timeout = Some(Duration::from_millis(20));
        kernel.set_read_timeout(timeout).expect("it is a socket");
        let mut byte = [0];
        let received = (0..500).any(|_| {
            kill_process(getpid(), Signal::INT).expect("it is this process");
            kernel.read_exact(&mut byte).is_ok()
        });
        assert!(received && byte == [INTERRUPT]);
        kernel.write_all(&[ENDED, 3]).expect("it is connected");
        drop(kernel);
        let code = waiting.join().expect("no panic").expect("an exit code");
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::from(3)));
    }

    #[test]
    fn a_kernel_that_ends_without_an_exit_code_is_an_error() {
        let (proxy, kernel) = UnixStream::pair().expect("two sockets");
        drop(kernel);
        assert!(matches!(wait(proxy), Err(Error::SpareEnded)));
    }
}
