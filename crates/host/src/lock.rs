//! Locks on folders: one process writes at a time, or several read.

use crate::error::{Context, Result};
use crate::progress::Progress;
use rustix::io::FdFlags;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a process that waits tries again.
const POLL: Duration = Duration::from_millis(100);

/// A lock on a folder. It is released when it is dropped, or when this process and the supervised programs
/// that the process has started ([`crate::process::supervised`]) have ended.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Locks a folder for writing. While another process has locked it, reports that and waits, until the user
    /// asks to stop.
    pub fn exclusive(folder: &Path, progress: &mut dyn Progress) -> Result<Lock> {
        let waiting = format!(
            "Another Taper is at work in {}. Waiting until it is done…",
            folder.display()
        );
        let lock = Self::alone(folder, &waiting, progress)?;
        // The processes that we start hold the lock too.
        rustix::io::fcntl_setfd(&lock._file, FdFlags::empty())
            .map_err(io::Error::from)
            .on_file("lock", folder)?;
        Ok(lock)
    }

    /// Locks a folder for writing by this process alone, not by those that it starts. While another process has locked
    /// it, shows `waiting`, until the user asks to stop.
    pub fn alone(folder: &Path, waiting: &str, progress: &mut dyn Progress) -> Result<Lock> {
        let file = open(folder)?;
        lock(&file, waiting, progress).on_file("lock", folder)?;
        Ok(Lock { _file: file })
    }

    /// Locks a folder for writing, unless another process has locked it.
    pub fn if_free(folder: &Path) -> Option<Lock> {
        let file = open(folder).ok()?;
        file.try_lock().is_ok().then_some(Lock { _file: file })
    }

    /// Locks a folder for reading.
    pub fn shared(folder: &Path) -> Result<Lock> {
        // The lock file of a store can only be opened for reading.
        let file = File::open(folder.join("lock")).or_else(|_| open(folder))?;
        file.lock_shared().on_file("lock", folder)?;
        Ok(Lock { _file: file })
    }
}

fn open(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(&path).on_file("open", &path)
}

fn lock(file: &File, waiting: &str, progress: &mut dyn Progress) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => wait(file, waiting, progress),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Waits for the lock. Which process holds it is not known: several may read, in other containers too.
fn wait(file: &File, waiting: &str, progress: &mut dyn Progress) -> io::Result<()> {
    progress.line(waiting);
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if progress.is_stopped() => {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(POLL),
        }
    }
    if start.elapsed() > Duration::from_secs(1) {
        progress.line("The other Taper is done.");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::{Console, Step};

    /// Keeps the lines, and drops the lock after the first.
    struct Lines(Vec<String>, Option<Lock>);

    impl Progress for Lines {
        fn line(&mut self, text: &str) {
            self.0.push(text.to_owned());
            self.1.take();
        }

        fn step(&mut self, _step: &Step) {}
    }

    #[test]
    fn a_process_that_waits_for_a_reader_names_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        drop(Lock::exclusive(folder, &mut Console::new()).expect("it is free"));
        let reader = Lock::shared(folder).expect("it is free");
        let mut lines = Lines(Vec::new(), Some(reader));
        let _writer = Lock::exclusive(folder, &mut lines).expect("it becomes free");
        let expected = format!(
            "Another Taper is at work in {}. Waiting until it is done…",
            folder.display()
        );
        assert_eq!(lines.0[0], expected);
    }
}
