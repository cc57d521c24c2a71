//! The relay: starts the cells process and passes on what comes out of it.

use super::limit;
use super::protocol::{BACKTRACE_VARIABLE, CELLS_ARGUMENT, READY_VARIABLE, SECRET_VARIABLE};
use super::translator::Translator;
use crate::error::{Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;
use taper_host::error::describe;

/// How long text on standard error may wait for the mark that makes it an error's message.
const HOLD: Duration = Duration::from_millis(20);
/// How long the relay waits for output before it looks again.
const IDLE: Duration = Duration::from_secs(60);

/// Runs until the cells process ends, then ends in the same way.
pub(crate) fn run() -> ! {
    become_group_leader();
    let status = start_cells().and_then(|mut cells| {
        cells.relay()?;
        let status = cells.child.wait();
        let status = status.map_err(Error::system("wait for the cells process"))?;
        cells.translator.ended(status.code(), status.signal());
        cells.pass_on()?;
        Ok(status)
    });
    match status {
        Ok(status) => end_like(status),
        Err(error) => {
            let error = describe(&error);
            eprintln!("taper: the process that runs the cells failed: {error}");
            std::process::exit(98);
        }
    }
}

/// Makes this process the leader of a new process group. The session can then stop the relay, the
/// cells and whatever they started with one signal, and a terminal's Ctrl-C reaches the session alone.
fn become_group_leader() {
    extern "C" fn ignore(_signal: libc::c_int) {}
    let handler = ignore as extern "C" fn(libc::c_int);
    // Fails only for the leader of a session, which leads its group already.
    let _ = rustix::process::setpgid(None, None);
    // A handler, unlike SIG_IGN, is not inherited by the cells process.
    // SAFETY: the handler does nothing, so it may run at any moment.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
    let group = rustix::process::getpid();
    taper_host::process::when_parent_ends(move || {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    });
}

struct Cells {
    child: Child,
    stdout: PipeReader,
    stderr: PipeReader,
    /// Reaches its end when the cells process ends.
    ended: PipeReader,
    /// The file that exists once evcxr is ready; `None` after it was found.
    ready: Option<PathBuf>,
    translator: Translator,
}

/// The variable for the backtraces of errors alone; `RUST_BACKTRACE` is also for those of panics.
/// Candle's errors print theirs, twenty lines after the one that the user needs, and some machines set
/// `RUST_BACKTRACE=1` for every user.
const ERRORS_BACKTRACE: &str = "RUST_LIB_BACKTRACE";

/// How many times Candle's threads poll for work before they sleep: for about 50 µs instead of
/// 1.5 ms. Within a training step that makes no difference. Where two kernels share the cores, the
/// spinning threads of one would take time from the other, and both would run five times slower.
const SPIN_LIMIT: (&str, &str) = ("CANDLE_BARRIER_POOL_SPIN_LIMIT", "1000");

/// Stops the allocator from reserving a gigabyte in advance, which would count against a memory limit
/// (`limit.rs`).
const NOT_IN_ADVANCE: (&str, &str) = ("MIMALLOC_ARENA_EAGER_COMMIT", "0");

fn start_cells() -> Result<Cells> {
    let secret = std::env::var(SECRET_VARIABLE);
    let secret = secret.map_err(|_| Error::Variable(SECRET_VARIABLE))?;
    let ready = std::env::var_os(READY_VARIABLE).ok_or(Error::Variable(READY_VARIABLE))?;
    let (stdout, stdout_writer) = pipe()?;
    let (stderr, stderr_writer) = pipe()?;
    let mut command = Command::new(taper_host::process::program()?);
    command
        .arg(CELLS_ARGUMENT)
        .stdout(stdout_writer)
        .stderr(stderr_writer);
    command
        .env_remove(BACKTRACE_VARIABLE)
        .env_remove(READY_VARIABLE);
    prepare_cells(&mut command);
    match std::env::var_os(BACKTRACE_VARIABLE) {
        Some(value) => command.env("RUST_BACKTRACE", value),
        None => command.env_remove("RUST_BACKTRACE"),
    };
    let child = command.spawn();
    let child = child.map_err(Error::system("start the cells process"))?;
    drop(command);
    let ended = watch(Pid::from_child(&child))?;
    Ok(Cells {
        child,
        stdout,
        stderr,
        ended,
        ready: Some(ready.into()),
        translator: Translator::new(&secret),
    })
}

/// Sets the environment of the cells process.
pub(crate) fn prepare_cells(command: &mut Command) {
    crate::workspace::leave(command);
    if std::env::var_os(ERRORS_BACKTRACE).is_none() {
        command.env(ERRORS_BACKTRACE, "0");
    }
    if std::env::var_os(SPIN_LIMIT.0).is_none() {
        command.env(SPIN_LIMIT.0, SPIN_LIMIT.1);
    }
    if std::env::var_os(limit::VARIABLE).is_some() {
        command.env(NOT_IN_ADVANCE.0, NOT_IN_ADVANCE.1);
    }
}

fn pipe() -> Result<(PipeReader, PipeWriter)> {
    std::io::pipe().map_err(Error::system("create a pipe"))
}

/// Returns a pipe that reaches its end when the process ends, even if other processes still hold its
/// output streams.
fn watch(pid: Pid) -> Result<PipeReader> {
    let (reader, writer) = pipe()?;
    std::thread::spawn(move || {
        // NOWAIT leaves the process for `Child::wait` to collect.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let wait = || rustix::process::waitid(WaitId::Pid(pid), options);
        let _ = rustix::io::retry_on_intr(wait);
        drop(writer);
    });
    Ok(reader)
}

impl Cells {
    fn relay(&mut self) -> Result<()> {
        for pipe in [&self.stdout, &self.stderr] {
            rustix::io::ioctl_fionbio(pipe, true).map_err(Error::system("set up a pipe"))?;
        }
        let (mut stdout_open, mut stderr_open) = (true, true);
        loop {
            let wait = if self.translator.holds_something() {
                HOLD
            } else {
                IDLE
            };
            let pipes = [
                stdout_open.then_some(&self.stdout),
                stderr_open.then_some(&self.stderr),
                Some(&self.ended),
            ];
            let [out, err, ended] = wait_for_input(pipes, wait)?;
            // evcxr may evaluate several times before it is ready, and reads no records then.
            if self.ready.as_ref().is_some_and(|file| file.exists()) {
                self.ready = None;
                self.translator.set_ready();
            }
            if !(out || err || ended) {
                self.translator.pause();
            }
            // Both hold bytes only where `order` cannot work; then this is the likely order.
            if err {
                stderr_open = read(&mut self.stderr, |bytes| self.translator.stderr(bytes))?;
            }
            if out {
                stdout_open = read(&mut self.stdout, |bytes| self.translator.stdout(bytes))?;
            }
            self.pass_on()?;
            if ended && !out && !err {
                self.translator.end();
                return self.pass_on();
            }
        }
    }

    fn pass_on(&mut self) -> Result<()> {
        let output = self.translator.take_output();
        if output.is_empty() {
            return Ok(());
        }
        let mut stdout = std::io::stdout().lock();
        let written = stdout.write_all(output.as_bytes());
        let written = written.and_then(|()| stdout.flush());
        written.map_err(Error::system("pass on the output of the cells"))
    }
}

/// Reads once, and passes the bytes to `take`. Returns whether the pipe is still open.
fn read(pipe: &mut PipeReader, take: impl FnOnce(&[u8])) -> Result<bool> {
    use std::io::ErrorKind::{Interrupted, WouldBlock};
    let mut buffer = [0; 1 << 16];
    match pipe.read(&mut buffer) {
        Ok(count) => {
            take(&buffer[..count]);
            Ok(count > 0)
        }
        Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => Ok(true),
        Err(error) => Err(Error::system("read the output of the cells")(error)),
    }
}

/// Returns which of the pipes have bytes to read or have reached their end, within `wait`.
fn wait_for_input(pipes: [Option<&PipeReader>; 3], wait: Duration) -> Result<[bool; 3]> {
    let wait = Timespec::try_from(wait).expect("the wait is short");
    let mut polled: Vec<PollFd> = pipes
        .into_iter()
        .flatten()
        .map(|pipe| PollFd::new(pipe, PollFlags::IN))
        .collect();
    match rustix::event::poll(&mut polled, Some(&wait)) {
        Err(rustix::io::Errno::INTR) => return Ok([false; 3]),
        result => result.map_err(Error::system("wait for output of the cells"))?,
    };
    let mut events = polled.iter().map(|polled| !polled.revents().is_empty());
    Ok(pipes.map(|pipe| pipe.is_some() && events.next().unwrap_or(false)))
}

/// Ends this process as the cells process ended, so that evcxr reports the true cause.
fn end_like(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        let no_core_dump = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        let _ = rustix::process::setrlimit(Resource::Core, no_core_dump);
        // SAFETY: the default action of the signal ends this process, without code of ours.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
    std::process::exit(status.code().unwrap_or(1));
}
