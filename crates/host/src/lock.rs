//! Locks on folders: one process writes at a time, or several read.

use crate::error::OnFile as _;
use crate::progress::{Progress, Published};
use anyhow::Result;
use std::cell::RefCell;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How often a process that waits tries again.
const POLL: Duration = Duration::from_millis(100);

thread_local! {
    /// The descriptors of the exclusive locks that this thread has taken.
    static HELD: RefCell<Vec<RawFd>> = const { RefCell::new(Vec::new()) };
}

/// A lock on a folder. An exclusive one is released when it is dropped, or when this process and the programs that the
/// thread with the lock has started with `pass_on`, such as supervised ones, have ended.
pub struct Lock {
    file: File,
}

impl Lock {
    /// Locks a folder for writing. While another process has locked it, reports that with the progress that the other
    /// publishes ([`Published`]) and waits, until the user asks to stop.
    pub fn exclusive(folder: &Path, progress: &mut dyn Progress) -> Result<Lock> {
        let waiting = format!(
            "Another Taper is at work in {}. Waiting until it is done…",
            folder.display()
        );
        let lock = Self::alone(folder, &waiting, progress)?;
        HELD.with_borrow_mut(|held| held.push(lock.file.as_raw_fd()));
        Ok(lock)
    }

    /// Lets a program hold the exclusive locks of this thread too, which must be taken as long as the program starts.
    pub(crate) fn pass_on(command: &mut Command) {
        let held = HELD.with_borrow(Clone::clone);
        let keep = move || {
            for descriptor in &held {
                // SAFETY: the call sets a flag, or returns an error if the descriptor is closed.
                unsafe { libc::fcntl(*descriptor, libc::F_SETFD, 0) };
            }
            Ok(())
        };
        // SAFETY: the closure calls nothing but `fcntl`, and allocates nothing.
        unsafe { command.pre_exec(keep) };
    }

    /// Locks a folder for writing by this process alone, not by those that it starts. While another process has locked
    /// it, shows `waiting`, until the user asks to stop.
    pub fn alone(folder: &Path, waiting: &str, progress: &mut dyn Progress) -> Result<Lock> {
        let file = open(folder)?;
        lock(&file, folder, waiting, progress).on_file("lock", folder)?;
        Ok(Lock { file })
    }

    /// Locks a folder for writing, unless another process has locked it.
    pub fn if_free(folder: &Path) -> Option<Lock> {
        let file = open(folder).ok()?;
        file.try_lock().is_ok().then_some(Lock { file })
    }

    /// Locks a folder for reading.
    pub fn shared(folder: &Path) -> Result<Lock> {
        // The lock file of a store can only be opened for reading.
        let file = File::open(folder.join("lock")).or_else(|_| open(folder))?;
        file.lock_shared().on_file("lock", folder)?;
        Ok(Lock { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let descriptor = self.file.as_raw_fd();
        HELD.with_borrow_mut(|held| held.retain(|it| *it != descriptor));
    }
}

fn open(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(&path).on_file("open", &path)
}

fn lock(file: &File, folder: &Path, waiting: &str, progress: &mut dyn Progress) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => wait(file, folder, waiting, progress),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Waits for the lock. Which process holds it is not known: several may read, in other containers too.
fn wait(file: &File, folder: &Path, waiting: &str, progress: &mut dyn Progress) -> io::Result<()> {
    progress.line(waiting);
    let start = Instant::now();
    let mut shown = None;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if progress.is_stopped() => {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Err(TryLockError::WouldBlock) => {
                let step = Published::read(folder);
                if let Some(step) = step.filter(|step| shown.as_ref() != Some(step)) {
                    progress.step(&step);
                    shown = Some(step);
                }
                std::thread::sleep(POLL);
            }
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

    /// Keeps the lines, and drops the lock after the first step.
    struct Lines(Vec<String>, Option<Lock>);

    impl Progress for Lines {
        fn line(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }

        fn step(&mut self, step: &Step) {
            self.line(&step.describe());
            self.1.take();
        }
    }

    #[test]
    fn only_a_supervised_program_holds_the_lock_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        for is_passed_on in [false, true] {
            let lock = Lock::exclusive(folder, &mut Console::new()).expect("it is free");
            let mut program = Command::new("sleep");
            program.arg("60");
            if is_passed_on {
                Lock::pass_on(&mut program);
            }
            let mut program = program.spawn().expect("it starts");
            drop(lock);
            // A process that another test starts has all open files until it executes its program.
            let is_free = (0..20).any(|_| {
                std::thread::sleep(Duration::from_millis(20));
                Lock::if_free(folder).is_some()
            });
            assert_eq!(is_free, !is_passed_on);
            program
                .kill()
                .and_then(|()| program.wait())
                .expect("it ends");
            assert!(Lock::if_free(folder).is_some());
        }
    }

    #[test]
    fn a_process_that_waits_names_the_folder_and_says_how_far_the_other_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        drop(Lock::exclusive(folder, &mut Console::new()).expect("it is free"));
        let reader = Lock::shared(folder).expect("it is free");
        let mut console = Console::new();
        let mut other = Published::new(folder, &mut console);
        other.step(&Step {
            verb: "Compiling".into(),
            name: "taper".into(),
            done: 1,
            total: 2,
            unit: "".into(),
            elapsed: Duration::ZERO,
            remaining: None,
        });
        let mut lines = Lines(Vec::new(), Some(reader));
        let _writer = Lock::exclusive(folder, &mut lines).expect("it becomes free");
        let expected = format!(
            "Another Taper is at work in {}. Waiting until it is done…",
            folder.display()
        );
        assert_eq!(lines.0, [expected, "Compiling 1 of 2: taper, 0 s".into()]);
    }
}
