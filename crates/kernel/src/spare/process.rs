//! The spare: starts a session, warms it, waits, and becomes the kernel of whoever comes.

use super::registry::{self, Place};
use super::{descriptors, patience};
use crate::serve::{self, Outside};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use taper_evaluator::Evaluator;
use taper_host::process;
use taper_host::progress::Console;
use taper_session::image::{Condition, Image};
use taper_session::workspace::{self, WorkFolder};
use taper_session::{Session, image_key, path_is_real, start_session};

/// The first argument with which our own binary becomes a spare.
pub const ARGUMENT: &str = "__standby";

/// From the spare: it serves the connection now.
pub const TAKEN: u8 = b'y';
/// From the spare: the kernel has ended; its exit code follows.
pub const ENDED: u8 = b'e';
/// From the door: stop the cell.
pub const INTERRUPT: u8 = b'i';

/// What a kernel is started with.
#[derive(Serialize, Deserialize)]
pub struct Wanted {
    connection_file: PathBuf,
    folder: PathBuf,
    /// As bytes: not every name and value is text.
    environment: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Wanted {
    /// What this process was started with.
    pub fn from_here(connection_file: &Path) -> Result<Wanted> {
        let variables = std::env::vars_os();
        let bytes = |text: OsString| text.as_bytes().to_vec();
        Ok(Wanted {
            connection_file: std::path::absolute(connection_file)?,
            folder: std::env::current_dir()?,
            environment: variables.map(|(k, v)| (bytes(k), bytes(v))).collect(),
        })
    }
}

/// `taper __standby`: starts the spare and ends. `taper __standby detached`: is the spare.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    if arguments.is_empty() {
        let mut command = Command::new(process::program()?);
        command
            .args([ARGUMENT, "detached"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // SAFETY: `setsid` may be called between fork and exec. Signals for the terminal or for
        // Jupyter's kernel are not for the spare.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                Ok(())
            });
        }
        command.spawn().context("starting a spare kernel")?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(patience) = patience() else {
        return Ok(ExitCode::SUCCESS);
    };
    let key = image_key()?;
    let name = registry::name(&key)?;
    let place = Place::open()?;
    let Some(mut right) = place.take(&name)? else {
        return Ok(ExitCode::SUCCESS);
    };
    if Image::find(&key)?.0 != Condition::Ready {
        return Ok(ExitCode::SUCCESS);
    }
    let listener = place.listen(&name)?;
    let work = WorkFolder::create()?;
    // SAFETY: this process has no other thread yet.
    unsafe { work.enter() };
    let folder = work.path();
    let mut session = start_session(work, &mut Console::new())?;
    session.warm();
    right.is_ready()?;
    let door = wait(&listener, patience)?;
    place.remove(&name);
    drop((listener, right));
    match door {
        Some(door) => serve(door, session, &folder),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// The first who comes, within this time.
fn wait(listener: &UnixListener, patience: Duration) -> Result<Option<UnixStream>> {
    let until = Instant::now() + patience;
    let mut poll = libc::pollfd {
        fd: listener.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // SAFETY: one entry, which lives through the call.
        let ready = unsafe { libc::poll(&mut poll, 1, left.as_millis().min(60_000) as i32) };
        if ready > 0 {
            return Ok(Some(listener.accept()?.0));
        }
        if left.is_zero() {
            return Ok(None);
        }
    }
}

fn serve(mut door: UnixStream, mut session: Session, folder: &Path) -> Result<ExitCode> {
    let (wanted, streams) = descriptors::receive(&mut door)?;
    let wanted: Wanted = serde_json::from_slice(&wanted)?;
    become_like(&wanted, streams)?;
    door.write_all(&[TAKEN])?;
    let outside = outside(door.try_clone()?);
    let start = move || {
        session.begin_anew()?;
        super::start_later();
        Ok(Box::new(session) as Box<dyn Evaluator>)
    };
    let served = serve::serve(&wanted.connection_file, Some(outside), start);
    let code = match &served {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("error: {error:#}");
            1
        }
    };
    let _ = door.write_all(&[ENDED, code]);
    // The next start need not wait for this.
    WorkFolder::remove(folder);
    Ok(ExitCode::from(code))
}

/// Each byte from the door is an interrupt; the end of the connection is the end of the door.
fn outside(mut door: UnixStream) -> Outside {
    Box::new(move |interrupt, end| {
        std::thread::spawn(move || {
            let mut byte = [0];
            while door.read_exact(&mut byte).is_ok() {
                interrupt();
            }
            end();
        });
        Ok(())
    })
}

/// Takes the folder, the environment and the output streams of whom we work for.
fn become_like(wanted: &Wanted, streams: [OwnedFd; 2]) -> Result<()> {
    for (stream, ours) in streams
        .iter()
        .zip([libc::STDOUT_FILENO, libc::STDERR_FILENO])
    {
        // SAFETY: both are open.
        unsafe { libc::dup2(stream.as_raw_fd(), ours) };
    }
    std::env::set_current_dir(&wanted.folder)
        .with_context(|| format!("entering {}", wanted.folder.display()))?;
    let variable = |bytes: &Vec<u8>| OsString::from_vec(bytes.clone());
    let kept = workspace::variables();
    let theirs = wanted.environment.iter();
    // SAFETY: the threads of the session are waiting for work; nobody else is there.
    unsafe {
        for (name, _) in std::env::vars_os() {
            if !kept.iter().any(|kept| name == *kept) {
                std::env::remove_var(name);
            }
        }
        for (name, value) in theirs.map(|(name, value)| (variable(name), variable(value))) {
            if !kept.iter().any(|kept| name == *kept) {
                std::env::set_var(name, value);
            }
        }
        path_is_real();
    }
    Ok(())
}
