//! Helpers of the tests of the command: they start the real program, with a time limit.

// Each test file uses only some of these items.
#![allow(dead_code)]

pub(crate) mod browser;
pub(crate) mod events;
pub(crate) mod jupyter;
pub(crate) mod python;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::{Value, json};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// Returns the folder of the repository.
pub(crate) fn root() -> PathBuf {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR"));
    cli.parent()
        .expect("the package is in the repository")
        .to_owned()
}

/// Returns a call of the program `taper` in the repository's folder, as from a terminal: without the
/// library path that cargo sets for the programs it starts.
pub(crate) fn taper(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taper"));
    command
        .args(arguments)
        .current_dir(root())
        .env_remove("RUST_BACKTRACE")
        .env_remove("LD_LIBRARY_PATH");
    command
}

/// Returns a notebook for our kernel with these code cells.
pub(crate) fn notebook_of(cells: &[&str]) -> Value {
    let cells = (1..).zip(cells).map(|(number, source)| {
        json!({
            "cell_type": "code", "id": format!("cell-{number}"), "metadata": {},
            "execution_count": null, "outputs": [], "source": source,
        })
    });
    json!({
        "cells": cells.collect::<Vec<_>>(),
        "metadata": { "kernelspec": { "name": "taper", "display_name": "Rust (Taper)", "language": "rust" } },
        "nbformat": 4, "nbformat_minor": 5,
    })
}

/// Returns the notebooks in a folder and its subfolders, as relative paths.
pub(crate) fn notebooks(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), PathBuf::from(entry.file_name()));
        if path.is_dir() && !name.to_string_lossy().starts_with('.') {
            found.extend(notebooks(&path).into_iter().map(|below| name.join(below)));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "ipynb")
        {
            found.push(name);
        }
    }
    found.sort();
    found
}

/// Returns the place that is free, or waits for the first. There are two, because that many tests run at once on two cores.
pub(crate) fn one_of<T>(places: &'static [Mutex<T>; 2]) -> MutexGuard<'static, T> {
    let free = places.iter().find_map(|place| match place.try_lock() {
        Ok(free) => Some(free),
        Err(TryLockError::Poisoned(free)) => Some(free.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    });
    let wait = || places[0].lock().unwrap_or_else(PoisonError::into_inner);
    free.unwrap_or_else(wait)
}

/// The exit status and the output of a program.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    /// Returns the status and both streams, for messages of failed assertions.
    pub(crate) fn all(&self) -> String {
        format!("{}\n{}\n{}", self.status, self.stdout, self.stderr)
    }
}

/// Runs a program to its end. After the time limit, the program and all processes that it started are
/// killed, and the test fails with the output until then.
pub(crate) fn run_within(limit: Duration, mut command: Command) -> Said {
    let name = format!("{command:?}");
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{name} does not start: {error}"));
    let stdout = read(child.stdout.take().expect("it is piped"));
    let stderr = read(child.stderr.take().expect("it is piped"));
    let ended = wait_within(limit, &child);
    if !ended {
        signal_group(&child, Signal::KILL);
    }
    let status = child.wait().expect("a child can be waited for");
    let said = Said {
        status,
        stdout: stdout.join().expect("reading does not panic"),
        stderr: stderr.join().expect("reading does not panic"),
    };
    assert!(ended, "{name} took longer than {limit:?}:\n{}", said.all());
    said
}

fn read(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Returns whether the child ends in time. Its status is left for `Child::wait`.
fn wait_within(limit: Duration, child: &Child) -> bool {
    let (sender, ended) = mpsc::channel();
    let child = Pid::from_child(child);
    std::thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = waitid(WaitId::Pid(child), options);
        let _ = sender.send(());
    });
    ended.recv_timeout(limit).is_ok()
}

/// Sends a signal to the process group that a child leads. The child must not have been waited for.
pub(crate) fn signal_group(child: &Child, signal: Signal) {
    // They may have ended already.
    let _ = kill_process_group(Pid::from_child(child), signal);
}
