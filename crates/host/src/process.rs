//! Our own program as another process, and programs that must not outlive this one.
//!
//! A set-up may be killed while cargo or pip is running. These would continue to write into the folders into
//! which the next set-up writes. So they run below a supervisor, a small process of ours that notices when
//! its parent has ended, and then kills the program with all processes that the program started. The
//! supervisor inherits the set-up's lock ([`crate::lock::Lock`]), so the next set-up begins only when the
//! supervisor has ended.

use crate::error::OnFile as _;
use crate::lock::Lock;
use anyhow::{Result, bail};
use rustix::process::{Signal, getpid, getppid, kill_process_group, setpgid};
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

/// Returns a path to our own program. On Linux, it still leads to this build when a newer build replaces the file.
pub fn program() -> Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe().on_file("find", "the running program")
}

/// Returns the first program of this name in the folders of `PATH`.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(name));
    files.find(|file| file.is_file())
}

/// Waits until a process has ended. After the limit it is killed, and there is no status.
///
/// # Errors
///
/// When the system cannot say how the process has ended.
pub fn wait_within(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    while began.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // It may have ended just now.
    let _ = child.kill();
    child.wait()?;
    Ok(None)
}

/// The first argument with which our own program becomes a supervisor.
pub const SUPERVISOR_ARGUMENT: &str = "__supervise";

/// Creates a command like [`Command::new`], for a program that ends when this process ends.
pub fn supervised(program: impl AsRef<OsStr>) -> Result<Command> {
    let mut command = Command::new(self::program()?);
    command
        .arg(SUPERVISOR_ARGUMENT)
        .arg(std::process::id().to_string())
        .arg(program);
    Lock::pass_on(&mut command);
    Ok(command)
}

/// Runs `taper __supervise PARENT PROGRAM ARGUMENTS…`, and returns the program's exit code.
pub fn supervise() -> Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(2);
    let (Some(parent), Some(program)) = (arguments.next(), arguments.next()) else {
        bail!("expected the parent's process id and a program");
    };
    end_group_with_parent();
    let current = getppid().map(|parent| parent.to_string());
    if current.is_none_or(|current| parent != current.as_str()) {
        bail!("the process that started this one has ended");
    }
    close_files_on_exec();
    let mut command = Command::new(&program);
    let status = command.args(arguments).status();
    let status = status.on_file("start", &program)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Makes this process the leader of a process group, and kills the group once the parent has ended.
fn end_group_with_parent() {
    // The call fails if the process already leads its group.
    let _ = setpgid(None, None);
    when_parent_ends(|| {
        let _ = kill_process_group(getpid(), Signal::KILL);
    });
}

/// Keeps the program from inheriting the lock: it may start processes that run for hours, such as a compiler cache.
fn close_files_on_exec() {
    for descriptor in 3..64 {
        // SAFETY: this sets a flag and neither closes nor duplicates anything; for a number that is not an
        // open descriptor it returns an error.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Calls a function once the process that started this one has ended. (Linux can send a signal instead,
/// but it does so when the *thread* that started us ends, not the process.)
pub fn when_parent_ends(then: impl FnOnce() + Send + 'static) {
    let parent = getppid();
    std::thread::spawn(move || {
        while getppid() == parent {
            std::thread::sleep(Duration::from_millis(500));
        }
        then();
    });
}

/// Duplicates a descriptor for this program's own use, with a high number, so that cells rarely close it by mistake.
///
/// # Errors
///
/// When too many files are open.
pub fn duplicate(stream: impl AsFd) -> std::io::Result<OwnedFd> {
    let high = rustix::io::fcntl_dupfd_cloexec(&stream, 200);
    // The system may allow fewer open files.
    let duplicate = high.or_else(|_| rustix::io::fcntl_dupfd_cloexec(&stream, 3));
    Ok(duplicate?)
}

/// The niceness of what is compiled while the user does something else.
pub const BACKGROUND: i32 = 5;

/// Sets the niceness of this thread and of what it starts: with 19, it gets only the time that nothing else uses. Does
/// nothing on systems where the priority belongs to the whole process.
pub fn let_others_go_first(niceness: i32) {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, niceness);
    #[cfg(not(target_os = "linux"))]
    let _ = niceness;
}
