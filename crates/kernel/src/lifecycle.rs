//! What ends or interrupts the kernel from outside the protocol: signals, and the end of Jupyter.

use super::shared::Shared;
use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{Pid, getppid, test_kill_process};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How often to check that Jupyter is running.
const INTERVAL: Duration = Duration::from_secs(1);

/// The variable in which Jupyter passes its process id.
const JUPYTER: &str = "JPY_PARENT_PID";

/// Starts a task that interrupts the cell at SIGINT, and ends the kernel at SIGTERM or when Jupyter ends.
pub(super) fn watch(shared: Arc<Shared>) -> Result<()> {
    let listen =
        |kind, name: &str| signal(kind).with_context(|| format!("cannot listen for {name}"));
    let mut interrupt = listen(SignalKind::interrupt(), "SIGINT")?;
    let mut terminate = listen(SignalKind::terminate(), "SIGTERM")?;
    let jupyter = Jupyter::new(std::env::var_os(JUPYTER));
    let mut check = tokio::time::interval(INTERVAL);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => shared.interrupt(),
                _ = terminate.recv() => shared.stop(),
                _ = check.tick() => if jupyter.as_ref().is_some_and(Jupyter::has_ended) {
                    shared.stop();
                },
            }
        }
    });
    Ok(())
}

/// The Jupyter process for which this kernel runs.
struct Jupyter {
    pid: Pid,
    /// Whether Jupyter started this process itself, not through `cargo` for instance.
    is_parent: bool,
}

impl Jupyter {
    fn new(pid: Option<OsString>) -> Option<Self> {
        let pid = Pid::from_raw(pid?.to_str()?.parse().ok()?)?;
        Some(Self {
            pid,
            is_parent: getppid() == Some(pid),
        })
    }

    /// Returns whether Jupyter has ended. A child process then has another parent, even if nothing has
    /// waited for the ended process yet; other processes can only check whether the process exists.
    fn has_ended(&self) -> bool {
        if self.is_parent {
            return getppid() != Some(self.pid);
        }
        test_kill_process(self.pid) == Err(Errno::SRCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_end_of_jupyter_is_noticed() {
        let mut process = Command::new("sleep").arg("60").spawn().unwrap();
        let jupyter = Jupyter {
            pid: Pid::from_child(&process),
            is_parent: false,
        };
        assert!(!jupyter.has_ended());
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(jupyter.has_ended());
    }

    #[test]
    fn a_child_notices_that_it_has_another_parent() {
        let is_parent = true;
        let pid = getppid().unwrap();
        assert!(!Jupyter { pid, is_parent }.has_ended());
        let pid = Pid::from_raw(pid.as_raw_nonzero().get() + 1).unwrap();
        assert!(Jupyter { pid, is_parent }.has_ended());
    }
}
