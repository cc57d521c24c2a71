//! The relay: starts the cells process and passes on what comes out of it.

use super::protocol::{BACKTRACE_VARIABLE, CELLS_ARGUMENT, READY_VARIABLE, SECRET_VARIABLE};
use super::translator::Translator;
use anyhow::{Context, Result};
use std::io::{PipeReader, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

/// How long text on standard error may wait for the mark that makes it an error's message.
const HOLD: Duration = Duration::from_millis(20);
/// How long a quiet relay sleeps.
const IDLE: Duration = Duration::from_secs(60);

/// Runs until the cells process ends; then ends in the same way.
pub(crate) fn run() -> ! {
    let status = become_group_leader()
        .and_then(|()| start_cells())
        .and_then(|mut cells| {
            cells.relay()?;
            cells.child.wait().context("waiting for the cells process")
        });
    match status {
        Ok(status) => end_like(status),
        Err(error) => {
            eprintln!("taper: the process that runs the cells failed: {error:#}");
            std::process::exit(98);
        }
    }
}

/// Our own process group lets the session stop us, the cells and whatever they started by one
/// signal, and keeps a terminal's Ctrl-C for the session alone.
fn become_group_leader() -> Result<()> {
    extern "C" fn ignore(_signal: libc::c_int) {}
    let handler = ignore as extern "C" fn(libc::c_int);
    // SAFETY: plain system calls. A handler, unlike SIG_IGN, is not inherited by the cells process.
    unsafe {
        libc::setpgid(0, 0);
        libc::signal(libc::SIGINT, handler as libc::sighandler_t);
    }
    let group = std::process::id() as libc::pid_t;
    // SAFETY: the group is ours alone.
    taper_host::process::when_parent_ends(move || unsafe {
        libc::kill(-group, libc::SIGKILL);
    });
    Ok(())
}

struct Cells {
    child: Child,
    stdout: PipeReader,
    stderr: PipeReader,
    /// Its other end is closed when the cells process ends.
    ended: PipeReader,
    translator: Translator,
}

/// Whether errors carry a backtrace, and not panics alone. Candle's print it, twenty lines behind the
/// one that a student needs, and some machines have `RUST_BACKTRACE=1` for everybody.
const ERRORS_BACKTRACE: &str = "RUST_LIB_BACKTRACE";

/// How often Candle's threads look for work before they sleep: for about 50 µs instead of 1.5 ms.
/// Within a training step that makes no difference; where two kernels share the cores, the threads of
/// one otherwise wait in the place of the other's work, and both get five times as slow.
const LOOKS: (&str, &str) = ("CANDLE_BARRIER_POOL_SPIN_LIMIT", "1000");

fn start_cells() -> Result<Cells> {
    let secret = std::env::var(SECRET_VARIABLE).context("no secret")?;
    let ready =
        std::env::var_os(READY_VARIABLE).is_some_and(|file| std::path::Path::new(&file).exists());
    let (stdout, stdout_writer) = std::io::pipe()?;
    let (stderr, stderr_writer) = std::io::pipe()?;
    let mut command = Command::new(taper_host::process::program()?);
    command
        .arg(CELLS_ARGUMENT)
        .stdout(stdout_writer)
        .stderr(stderr_writer);
    command
        .env_remove(BACKTRACE_VARIABLE)
        .env_remove(READY_VARIABLE);
    crate::workspace::leave(&mut command);
    match std::env::var_os(BACKTRACE_VARIABLE) {
        Some(value) => command.env("RUST_BACKTRACE", value),
        None => command.env_remove("RUST_BACKTRACE"),
    };
    if std::env::var_os(ERRORS_BACKTRACE).is_none() {
        command.env(ERRORS_BACKTRACE, "0");
    }
    if std::env::var_os(LOOKS.0).is_none() {
        command.env(LOOKS.0, LOOKS.1);
    }
    let child = command.spawn().context("starting the cells process")?;
    drop(command);
    let ended = watch(child.id())?;
    Ok(Cells {
        child,
        stdout,
        stderr,
        ended,
        translator: Translator::new(&secret, ready),
    })
}

/// A pipe that ends when the process does, though others may still hold its output streams.
fn watch(pid: u32) -> Result<PipeReader> {
    let (reader, writer) = std::io::pipe()?;
    std::thread::spawn(move || {
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: WNOWAIT leaves the process for `Child::wait` to collect.
        while unsafe { libc::waitid(libc::P_PID, pid, &mut info, libc::WEXITED | libc::WNOWAIT) }
            != 0
            && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
        {}
        drop(writer);
    });
    Ok(reader)
}

impl Cells {
    fn relay(&mut self) -> Result<()> {
        let descriptors = [&self.stdout, &self.stderr, &self.ended].map(|p| p.as_raw_fd());
        for fd in descriptors {
            never_block(fd);
        }
        let mut open = [true, true];
        loop {
            let wait = if self.translator.holds_something() {
                HOLD
            } else {
                IDLE
            };
            let [out, err, ended] = wait_for_input(descriptors, open, wait)?;
            if !(out || err || ended) {
                self.translator.pause();
            }
            // Both can only hold bytes where `order` cannot work; then this is the likely order.
            if err {
                open[1] = self.read_stderr()?;
            }
            if out {
                open[0] = self.read_stdout()?;
            }
            self.pass_on()?;
            if ended && !out && !err {
                self.translator.end();
                return self.pass_on();
            }
        }
    }

    /// Reads once; says whether the pipe is still open.
    fn read_stdout(&mut self) -> Result<bool> {
        let mut buffer = [0; 1 << 16];
        let Some(count) = read_some(&mut self.stdout, &mut buffer)? else {
            return Ok(true);
        };
        self.translator.stdout(&buffer[..count]);
        Ok(count > 0)
    }

    fn read_stderr(&mut self) -> Result<bool> {
        let mut buffer = [0; 1 << 16];
        let Some(count) = read_some(&mut self.stderr, &mut buffer)? else {
            return Ok(true);
        };
        self.translator.stderr(&buffer[..count]);
        Ok(count > 0)
    }

    fn pass_on(&mut self) -> Result<()> {
        let output = self.translator.take_output();
        if output.is_empty() {
            return Ok(());
        }
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(output.as_bytes())?;
        stdout.flush()?;
        Ok(())
    }
}

/// `None` if there was nothing to read after all.
fn read_some(pipe: &mut PipeReader, buffer: &mut [u8]) -> Result<Option<usize>> {
    use std::io::ErrorKind::{Interrupted, WouldBlock};
    match pipe.read(buffer) {
        Ok(count) => Ok(Some(count)),
        Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn never_block(fd: RawFd) {
    // SAFETY: plain system calls on a descriptor that is ours.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK);
    }
}

/// Which of stdout, stderr and the end has something to say, within `wait`.
fn wait_for_input(descriptors: [RawFd; 3], open: [bool; 2], wait: Duration) -> Result<[bool; 3]> {
    let watched = [open[0], open[1], true];
    let mut polled = std::array::from_fn::<_, 3, _>(|i| libc::pollfd {
        // A negative descriptor is passed over.
        fd: if watched[i] { descriptors[i] } else { -1 },
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: the array lives through the call.
    let result = unsafe { libc::poll(polled.as_mut_ptr(), 3, wait.as_millis() as libc::c_int) };
    if result < 0 {
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error.into());
        }
        return Ok([false; 3]);
    }
    Ok(polled.map(|p| p.revents != 0))
}

/// Ends this process as the cells process ended, so that evcxr reports the truth.
fn end_like(status: ExitStatus) -> ! {
    use std::os::unix::process::ExitStatusExt;
    if let Some(signal) = status.signal() {
        no_core_dump();
        // SAFETY: the default action of the signal ends this process.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
    std::process::exit(status.code().unwrap_or(1));
}

fn no_core_dump() {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: plain system call.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
}
