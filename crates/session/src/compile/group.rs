//! The processes that compile a cell, as a group that can be stopped.
//!
//! evcxr waits for cargo, and nothing can ask it to stop waiting. So the program in cargo's place leads
//! a process group, and keeps a file with the group's id locked as long as it runs. An interrupt ends
//! that group: evcxr sees a compilation that failed, the cell never begins, and the variables live on.
//! Until the next cell nothing else is compiled, because evcxr may try more than once.

use rustix::process::{Pid, Signal, getpid, kill_process_group, setpgid};
use std::fs::File;
use std::io::{Read, Result, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};
use taper_host::process::when_parent_ends;

/// The file that is locked while a cell is compiled. It contains the id of the process group.
const RUNNING: &str = "compiling";
/// The file that exists from an interrupt until the next cell.
const STOPPED: &str = "compilation-stopped";
/// How long a group may take to write its id after it has locked the file.
const PATIENCE: Duration = Duration::from_millis(200);

/// The compilation in a session's folder, as the session sees it.
pub(crate) struct Compilation {
    folder: PathBuf,
}

impl Compilation {
    /// Returns the compilation of the session in `folder`.
    pub(crate) fn new(folder: &Path) -> Compilation {
        Compilation {
            folder: folder.to_owned(),
        }
    }

    /// Allows compilation again.
    pub(crate) fn allow(&self) {
        let _ = std::fs::remove_file(self.folder.join(STOPPED));
    }

    /// Ends the compilation, and prevents others until [`Self::allow`]. Returns whether there was a
    /// compilation to end.
    pub(crate) fn stop(&self) -> bool {
        let _ = std::fs::write(self.folder.join(STOPPED), "");
        let asked = Instant::now();
        while let Some(mut file) = self.locked() {
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            if let Some(group) = text.trim().parse().ok().and_then(Pid::from_raw) {
                return kill_process_group(group, Signal::KILL).is_ok();
            }
            if asked.elapsed() > PATIENCE {
                break;
            }
            std::thread::yield_now();
        }
        false
    }

    /// Returns the file with the group's id, if a process holds its lock.
    fn locked(&self) -> Option<File> {
        let file = File::open(self.folder.join(RUNNING)).ok()?;
        match file.try_lock_shared() {
            Err(std::fs::TryLockError::WouldBlock) => Some(file),
            _ => None,
        }
    }
}

/// The lock that makes this process the leader of a compilation until it is dropped.
pub(crate) struct Leader(#[expect(dead_code, reason = "it holds the lock")] File);

/// The id of a process group that is ended when this process's parent ends, or 0.
static INCLUDED: AtomicI32 = AtomicI32::new(0);

/// Ends another process group too once the parent of this process has ended.
pub(crate) fn include(group: i32) {
    INCLUDED.store(group, Ordering::Relaxed);
}

/// Makes this process and those that it starts the compilation of the session in `folder`. Returns
/// `None` if compilation was stopped.
pub(crate) fn lead(folder: &Path) -> Result<Option<Leader>> {
    let is_stopped = || folder.join(STOPPED).exists();
    if is_stopped() {
        return Ok(None);
    }
    setpgid(None, None)?;
    when_parent_ends(|| {
        if let Some(included) = Pid::from_raw(INCLUDED.load(Ordering::Relaxed)) {
            let _ = kill_process_group(included, Signal::KILL);
        }
        let _ = kill_process_group(getpid(), Signal::KILL);
    });
    let mut file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(RUNNING))?;
    file.lock()?;
    // Not truncated first, as in `cache::overwrite`.
    let number = std::process::id().to_string();
    file.write_all(number.as_bytes())?;
    file.set_len(number.len() as u64)?;
    // An interrupt may have come before the file was locked.
    Ok((!is_stopped()).then_some(Leader(file)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn a_stop_ends_the_group_that_holds_the_lock() {
        let folder = tempfile::tempdir().expect("a folder");
        let compilation = Compilation::new(folder.path());
        assert!(!compilation.stop(), "nothing is compiled");
        let mut child = Command::new("sleep")
            .arg("60")
            .process_group(0)
            .spawn()
            .expect("it starts");
        let mut file = File::create(folder.path().join(RUNNING)).expect("a file");
        file.lock().expect("it is free");
        write!(file, "{}", child.id()).expect("it is written");
        assert!(compilation.stop());
        assert!(!child.wait().expect("it ends").success());
    }

    #[test]
    fn a_number_without_a_lock_is_nobodys() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = Command::new("sleep")
            .arg("60")
            .process_group(0)
            .spawn()
            .expect("it starts");
        std::fs::write(folder.path().join(RUNNING), child.id().to_string()).expect("a file");
        assert!(!Compilation::new(folder.path()).stop());
        assert!(
            child.try_wait().expect("it is asked").is_none(),
            "it runs on"
        );
        child.kill().expect("it ends");
        child.wait().expect("it ends");
    }

    #[test]
    fn nothing_is_compiled_after_a_stop() {
        let folder = tempfile::tempdir().expect("a folder");
        let compilation = Compilation::new(folder.path());
        compilation.stop();
        assert!(lead(folder.path()).expect("a folder").is_none());
        compilation.allow();
        assert!(!folder.path().join(STOPPED).exists());
    }
}
