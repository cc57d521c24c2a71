//! The process that runs the cells, seen from the engine.
//!
//! - [`wire`] is what both sides say to each other;
//! - [`cells`] is the other side; [`host`] is what a program adds to it.

pub(crate) mod cells;
pub(crate) mod host;
pub(crate) mod wire;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::interrupt::Control;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io::{self, PipeReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;
use taper_evaluator::Stream;
use taper_evaluator::record::{End, Times};
use taper_evaluator::text::Text;
use taper_host::error::Context as _;
use wire::{Report, Request};

/// How often a cell that was asked to stop is asked again.
const REMINDER: Duration = Duration::from_millis(100);

/// The process that runs the cells. It is killed with all that it started when this is dropped.
pub(crate) struct Process {
    child: Child,
    socket: UnixStream,
    streams: [Output; 2],
}

/// A stream that the cells write to.
struct Output {
    stream: Stream,
    /// `None` after its end.
    pipe: Option<PipeReader>,
    text: Text,
}

/// How a request ended.
#[derive(Debug)]
pub(crate) enum Ran {
    /// The process is ready for the next one.
    Ended(Times),
    /// A library could not be loaded.
    NotLoaded(String),
    /// The process has ended.
    Gone(End),
}

/// What happens while a request runs.
pub(crate) enum Event {
    Text(Stream, String),
    Report(Report),
}

impl Process {
    /// Starts the process and loads libraries.
    pub(crate) fn start(config: &Config, libraries: Vec<PathBuf>) -> Result<Process> {
        let (socket, other) = UnixStream::pair().trying("create a socket")?;
        let pipe = || io::pipe().trying("create a pipe");
        let ((stdout, to_stdout), (stderr, to_stderr)) = (pipe()?, pipe()?);
        let mut command = Command::new(&config.program);
        command
            .arg(cells::ARGUMENT)
            .env(LIBRARY_PATH, library_path(config, &libraries))
            .stdin(OwnedFd::from(other))
            .stdout(to_stdout)
            .stderr(to_stderr)
            .process_group(0);
        for (name, value) in &config.cell_environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let child = command.spawn();
        // With it, our ends of the pipes are closed.
        drop(command);
        let child = child.trying("start the process that runs the cells")?;
        let mut process = Process {
            child,
            socket,
            streams: [
                Output::new(Stream::Stdout, stdout)?,
                Output::new(Stream::Stderr, stderr)?,
            ],
        };
        let mut said = String::new();
        let mut listen = |event| {
            if let Event::Text(_, text) = event {
                said.push_str(&text);
            }
        };
        match process.run(
            &Request::Load { libraries },
            &Control::default(),
            &mut listen,
        )? {
            Ran::Ended(_) => Ok(process),
            Ran::NotLoaded(why) => Err(Error::Load(why)),
            Ran::Gone(_) => Err(Error::Start(said.trim().to_owned())),
        }
    }

    /// Loads libraries. What they print is lost.
    pub(crate) fn load(&mut self, libraries: Vec<PathBuf>) -> Result<()> {
        let request = Request::Load { libraries };
        match self.run(&request, &Control::default(), &mut |_| {})? {
            Ran::NotLoaded(why) => Err(Error::Load(why)),
            Ran::Ended(_) | Ran::Gone(_) => Ok(()),
        }
    }

    /// Sends a request, and passes on what happens until its end.
    pub(crate) fn run(
        &mut self,
        request: &Request,
        control: &Control,
        listen: &mut dyn FnMut(Event),
    ) -> Result<Ran> {
        if wire::send(&mut self.socket, request).is_err() {
            return self.gone(listen);
        }
        control.set_cells(Some(self.child.id()));
        let ran = self.listen_until_end(control, listen);
        control.set_cells(None);
        ran
    }

    fn listen_until_end(
        &mut self,
        control: &Control,
        listen: &mut dyn FnMut(Event),
    ) -> Result<Ran> {
        loop {
            let is_ready = self.wait(REMINDER)?;
            if control.is_asked_to_stop() {
                control.remind();
            }
            // What a cell prints precedes what it reports.
            self.read(listen)?;
            if !is_ready {
                continue;
            }
            let report = wire::receive(&mut self.socket);
            match report.map_err(|error| Error::Protocol(error.to_string()))? {
                Some(Report::End(times)) => {
                    self.streams
                        .iter_mut()
                        .for_each(|stream| stream.finish(listen));
                    return Ok(Ran::Ended(times));
                }
                Some(Report::NotLoaded(why)) => return Ok(Ran::NotLoaded(why)),
                Some(report) => listen(Event::Report(report)),
                None => return self.gone(listen),
            }
        }
    }

    /// Passes on what was printed since the last request.
    pub(crate) fn read(&mut self, listen: &mut dyn FnMut(Event)) -> Result<()> {
        for output in self.streams.iter_mut().rev() {
            output.read(listen)?;
        }
        Ok(())
    }

    /// Waits for anything to read. Returns whether the socket has something.
    fn wait(&self, timeout: Duration) -> Result<bool> {
        let timeout = Timespec::try_from(timeout).expect("the time is short");
        let mut polled = vec![PollFd::new(&self.socket, PollFlags::IN)];
        let pipes = self
            .streams
            .iter()
            .filter_map(|output| output.pipe.as_ref());
        polled.extend(pipes.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        match rustix::event::poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(!polled[0].revents().is_empty()),
            Err(error) => Err(taper_host::Error::system("wait for the cells", error).into()),
        }
    }

    /// Collects the process, which has closed its socket.
    fn gone(&mut self, listen: &mut dyn FnMut(Event)) -> Result<Ran> {
        // It may have closed the socket alone.
        self.kill();
        let status = self.child.wait();
        let status = status.trying("wait for the process that runs the cells")?;
        self.read(listen)?;
        Ok(Ran::Gone(End {
            code: status.code(),
            signal: status.signal(),
            allocation: None,
        }))
    }

    fn kill(&mut self) {
        let patience = Duration::from_millis(200);
        let began = std::time::Instant::now();
        // A process that ends by itself says how.
        while began.elapsed() < patience && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Output {
    fn new(stream: Stream, pipe: PipeReader) -> Result<Output> {
        rustix::io::ioctl_fionbio(&pipe, true).trying("set up a pipe")?;
        Ok(Output {
            stream,
            pipe: Some(pipe),
            text: Text::default(),
        })
    }

    /// Passes on what a cell has left incomplete.
    fn finish(&mut self, listen: &mut dyn FnMut(Event)) {
        let text = self.text.push(&[], true);
        if !text.is_empty() {
            listen(Event::Text(self.stream, text));
        }
    }

    /// Reads until the pipe is empty.
    fn read(&mut self, listen: &mut dyn FnMut(Event)) -> Result<()> {
        let mut buffer = [0; 1 << 16];
        while let Some(pipe) = &mut self.pipe {
            let count = match pipe.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.trying("read the output of the cells")?,
            };
            if count == 0 {
                self.pipe = None;
            }
            let text = self.text.push(&buffer[..count], count == 0);
            if !text.is_empty() {
                listen(Event::Text(self.stream, text));
            }
            if count < buffer.len() {
                break;
            }
        }
        Ok(())
    }
}

/// The variable with the folders in which the dynamic loader looks for libraries.
const LIBRARY_PATH: &str = if cfg!(target_os = "macos") {
    "DYLD_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// Returns the value of [`LIBRARY_PATH`]: the folders of Rust's library and of the packages.
fn library_path(config: &Config, libraries: &[PathBuf]) -> OsString {
    let rust = config.sysroot.join("lib");
    let target = rust.join("rustlib").join(&config.target).join("lib");
    let packages = libraries.iter().filter_map(|library| library.parent());
    let ours = [target, rust].into_iter().chain(packages.map(Into::into));
    let before = std::env::var_os(LIBRARY_PATH).unwrap_or_default();
    let all = ours.chain(std::env::split_paths(&before));
    // A colon in the name of a folder cannot be in the variable.
    std::env::join_paths(all).unwrap_or(before)
}
