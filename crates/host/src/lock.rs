//! One writer of a folder at a time; readers may be there side by side.

use crate::progress::Progress;
use anyhow::{Context, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// Released when dropped, or when the process was killed and those whom it had build
/// ([`crate::process::guarded`]) have ended as well.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// For writing; says whom it waits for.
    pub fn exclusive(folder: &Path, progress: &mut dyn Progress) -> Result<Lock> {
        let mut file = open(folder)?;
        if let Err(error) = file.try_lock() {
            wait(&mut file, error, progress).with_context(|| locking(folder))?;
        }
        file.set_len(0)?;
        file.rewind()?;
        write!(file, "{}", std::process::id())?;
        hand_down(&file);
        Ok(Lock { _file: file })
    }

    /// For reading.
    pub fn shared(folder: &Path) -> Result<Lock> {
        let file = open(folder)?;
        file.lock_shared().with_context(|| locking(folder))?;
        Ok(Lock { _file: file })
    }
}

fn locking(folder: &Path) -> String {
    format!("locking {}", folder.display())
}

/// Lets the processes that we start hold the lock too.
fn hand_down(file: &File) {
    // SAFETY: plain system call on a descriptor that is ours.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFD, 0) };
}

fn open(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options
        .open(&path)
        .with_context(|| format!("opening {}", path.display()))
}

fn wait(file: &mut File, error: TryLockError, progress: &mut dyn Progress) -> Result<()> {
    if let TryLockError::Error(error) = error {
        return Err(error.into());
    }
    let mut owner = String::new();
    let _ = file.read_to_string(&mut owner);
    progress.line(&format!(
        "Another Taper is at work (process {owner}). Waiting until it is done…"
    ));
    let start = Instant::now();
    file.lock()?;
    if start.elapsed() > Duration::from_secs(1) {
        progress.line("The other one is done.");
    }
    Ok(())
}
