//! What the kernel hears from outside the protocol: signals, and that Jupyter is gone.

use super::serve::Outside;
use super::shared::Shared;
use anyhow::{Context, Result};
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How often to look whether Jupyter lives.
const LOOK: Duration = Duration::from_secs(1);

/// From now on SIGINT interrupts the cell, and SIGTERM or the end of Jupyter ends the kernel.
pub(super) fn watch(shared: Arc<Shared>, outside: Option<Outside>) -> Result<()> {
    if let Some(outside) = outside {
        let (interrupted, ended) = (shared.clone(), shared.clone());
        outside(
            Box::new(move || interrupted.interrupt()),
            Box::new(move || ended.stop()),
        )?;
    }
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen to SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen to SIGTERM")?;
    let jupyter = Jupyter::from_environment();
    let mut look = tokio::time::interval(LOOK);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => shared.interrupt(),
                _ = terminate.recv() => shared.stop(),
                _ = look.tick() => if jupyter.as_ref().is_some_and(Jupyter::is_gone) {
                    shared.stop();
                },
            }
        }
    });
    Ok(())
}

/// The process that wants this kernel.
struct Jupyter {
    pid: libc::pid_t,
    /// It started us itself, not through `cargo` for instance.
    parent: bool,
}

impl Jupyter {
    fn from_environment() -> Option<Self> {
        let pid = std::env::var("JPY_PARENT_PID").ok()?.parse().ok()?;
        Some(Self {
            pid,
            parent: parent() == pid,
        })
    }

    /// A child learns of its parent's end by getting another one, even when nobody has collected
    /// the dead one yet; anybody else can only ask whether the process exists.
    fn is_gone(&self) -> bool {
        if self.parent {
            return parent() != self.pid;
        }
        // SAFETY: signal 0 is sent to nobody, only the possibility is checked.
        let exists = unsafe { libc::kill(self.pid, 0) } == 0;
        !exists && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
    }
}

fn parent() -> libc::pid_t {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::getppid() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_end_of_jupyter_is_seen() {
        let mut process = Command::new("sleep").arg("60").spawn().unwrap();
        let jupyter = Jupyter {
            pid: process.id().try_into().unwrap(),
            parent: false,
        };
        assert!(!jupyter.is_gone());
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(jupyter.is_gone());
    }

    #[test]
    fn a_child_sees_that_it_has_another_parent() {
        let pid = parent();
        assert!(!Jupyter { pid, parent: true }.is_gone());
        let pid = pid + 1;
        assert!(Jupyter { pid, parent: true }.is_gone());
    }
}
