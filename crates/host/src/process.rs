//! Our own program as another process, and programs that must not outlive this one.
//!
//! A set-up may be killed while cargo or pip is at work. Left alone, they would go on writing where
//! the next set-up writes. So a small process of ours stands between: it notices that its parent is
//! gone and ends the program with all that the program started. The set-up's lock is handed down to
//! it ([`crate::lock::Lock`]), so the next set-up begins when the last of them has ended.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Our own program, for the processes that a session starts; it stays the right one when a newer
/// build takes its place on disk.
pub fn program() -> Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    Ok(std::env::current_exe()?)
}

/// The first argument with which our own binary becomes a guard.
pub const GUARD_ARGUMENT: &str = "__guard";

/// Like [`Command::new`], for a program that ends when we do.
pub fn guarded(program: impl AsRef<OsStr>) -> Result<Command> {
    let mut command = Command::new(self::program()?);
    command
        .arg(GUARD_ARGUMENT)
        .arg(std::process::id().to_string())
        .arg(program);
    Ok(command)
}

/// `taper __guard PARENT PROGRAM ARGUMENTS…`
pub fn guard() -> Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(2);
    let (Some(parent), Some(program)) = (arguments.next(), arguments.next()) else {
        bail!("expected the parent's process number and a program");
    };
    become_group_leader();
    // SAFETY: plain system call.
    if parent != unsafe { libc::getppid() }.to_string().as_str() {
        bail!("the set-up has ended");
    }
    keep_files_to_ourselves();
    let status = Command::new(&program)
        .args(arguments)
        .status()
        .with_context(|| format!("starting {}", program.display()))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

fn become_group_leader() {
    // SAFETY: plain system call.
    unsafe { libc::setpgid(0, 0) };
    let group = std::process::id() as libc::pid_t;
    // SAFETY: the group is ours alone.
    when_parent_ends(move || unsafe {
        libc::kill(-group, libc::SIGKILL);
    });
}

/// The lock is for us to hold. What the program starts may stay for hours, such as a compiler cache.
fn keep_files_to_ourselves() {
    for descriptor in 3..64 {
        // SAFETY: at worst there is no such descriptor.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Calls `then` once our parent process is another one than now. (Linux can send a signal instead,
/// but when the *thread* that started us ends, not the process.)
pub fn when_parent_ends(then: impl FnOnce() + Send + 'static) {
    // SAFETY: plain system call.
    let parent = || unsafe { libc::getppid() };
    let first = parent();
    std::thread::spawn(move || {
        while parent() == first {
            std::thread::sleep(Duration::from_millis(500));
        }
        then();
    });
}
