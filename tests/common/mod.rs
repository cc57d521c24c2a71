//! Helpers of the tests that use several crates: calls of the real program, with a time limit.

// Each test file uses only some of these items.
#![allow(dead_code)]

pub mod browser;
pub mod events;
pub mod jupyter;
pub mod python;

use serde_json::{Value, json};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

/// The folder of the repository.
pub fn root() -> PathBuf {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR"));
    cli.parent()
        .expect("the package is in the repository")
        .to_owned()
}

/// Returns a call of the program `taper` in the repository's folder, as from a terminal: without the
/// library path that cargo sets for the programs it starts.
pub fn taper(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taper"));
    command
        .args(arguments)
        .current_dir(root())
        .env_remove("RUST_BACKTRACE")
        .env_remove("LD_LIBRARY_PATH");
    command
}

/// Returns a notebook for our kernel with these code cells.
pub fn notebook_of(cells: &[&str]) -> Value {
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

/// The exit status and the output of a program.
#[derive(Debug)]
pub struct Said {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    /// Returns both streams, for the messages of failed assertions.
    pub fn all(&self) -> String {
        format!("{}\n{}\n{}", self.status, self.stdout, self.stderr)
    }
}

/// Runs a program to its end. After the time limit, its process group is killed, and the test fails
/// with the output so far.
pub fn run_within(limit: Duration, mut command: Command) -> Said {
    let name = format!("{command:?}");
    // A spare kernel would outlive the test. The tests of spare kernels set this variable themselves.
    if !command.get_envs().any(|(name, _)| name == "TAPER_STANDBY") {
        command.env("TAPER_STANDBY", "0");
    }
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
        kill_group(&child);
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

/// Returns whether the child ends in time. It is not reaped.
fn wait_within(limit: Duration, child: &Child) -> bool {
    let (sender, ended) = mpsc::channel();
    let pid = child.id();
    std::thread::spawn(move || {
        // SAFETY: zeros are a valid siginfo_t; WNOWAIT leaves the child for `Child::wait`.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(
                libc::P_PID,
                pid,
                &raw mut info,
                libc::WEXITED | libc::WNOWAIT,
            );
        }
        let _ = sender.send(());
    });
    ended.recv_timeout(limit).is_ok()
}

fn kill_group(child: &Child) {
    let group = libc::pid_t::try_from(child.id()).expect("process numbers are small");
    // SAFETY: the child leads its own process group and is not reaped yet.
    unsafe { libc::kill(-group, libc::SIGKILL) };
}
