//! The process that runs the cells, seen from the engine.
//!
//! - [`wire`] is what both sides say to each other; [`reader`] is the thread that listens;
//! - [`cells`] is the other side, and [`link`] connects it to what is compiled for the cells; [`host`] is what a program
//!   adds to it.

pub(crate) mod cells;
pub(crate) mod host;
pub(crate) mod link;
mod reader;
pub(crate) mod wire;

use crate::config::Config;
use crate::error::not_loaded;
use crate::interrupt::{Control, Step};
use anyhow::{Context, Result, bail};
pub(crate) use reader::Late;
use reader::{Reader, Streams};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;
use taper_evaluator::Event;
use taper_evaluator::run::{End, Times};
use wire::{Answer, Report, Request};

/// How often to look whether the cell that runs was asked to stop.
const INVALID: &str = "the process that runs the cells sent an invalid message";
const LOOK: Duration = Duration::from_millis(100);

/// The process that runs the cells. It is killed with all that it started when this is dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) socket: Arc<UnixStream>,
    reader: Reader,
}

/// How a request ended.
#[derive(Debug)]
pub(crate) enum Ran {
    /// The process is ready for the next one.
    Ended(Times),
    /// A library could not be loaded.
    NotLoaded(String),
    /// The process is ready for the next one, but the cell still runs: see [`Request::Leave`].
    Left {
        /// The variables that it has taken.
        taken: Vec<String>,
    },
    /// The process has ended.
    Gone(End),
}

impl Process {
    /// Starts the process and loads libraries.
    pub(crate) fn start(config: &Config, libraries: Vec<PathBuf>, late: Late) -> Result<Process> {
        let (socket, other) = UnixStream::pair().context("cannot create a socket")?;
        let pipe = || io::pipe().context("cannot create a pipe");
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
        let child = child.context("cannot start the process that runs the cells")?;
        let streams = Streams::new(stdout, stderr)?;
        let reading = socket.try_clone().context("cannot create a socket")?;
        let mut process = Process {
            child,
            socket: Arc::new(socket),
            reader: Reader::start(reading, streams, late)?,
        };
        let mut said = String::new();
        let mut listen = |report| {
            if let Report::Shown(Event::Text { text, .. }) = report {
                said.push_str(&text);
            }
        };
        match process.run(
            &Request::Load { libraries },
            &Control::default(),
            &mut listen,
        )? {
            Ran::Ended(_) => Ok(process),
            Ran::NotLoaded(why) => Err(not_loaded(&why)),
            Ran::Left { .. } | Ran::Gone(_) => {
                let said = said.trim();
                bail!("the process that runs the cells does not start: {said}")
            }
        }
    }

    /// Loads libraries. What they print is lost.
    pub(crate) fn load(&mut self, libraries: Vec<PathBuf>) -> Result<()> {
        let request = Request::Load { libraries };
        match self.run(&request, &Control::default(), &mut |_| {})? {
            Ran::NotLoaded(why) => Err(not_loaded(&why)),
            Ran::Ended(_) | Ran::Left { .. } | Ran::Gone(_) => Ok(()),
        }
    }

    /// Sends a request, and passes on what happens until its end.
    pub(crate) fn run(
        &mut self,
        request: &Request,
        control: &Control,
        listen: &mut dyn FnMut(Report),
    ) -> Result<Ran> {
        let cell = request.cell();
        self.reader.begin(cell);
        // Before the cell can run: who sees that it runs may want to kill it.
        control.set_cells(Some(self.child.id()));
        let ran = match wire::send(&mut &*self.socket, request) {
            Ok(()) => self.listen_until_end(cell, control, listen),
            Err(_) => self.gone(listen),
        };
        control.set_cells(None);
        ran
    }

    fn listen_until_end(
        &mut self,
        cell: Option<u32>,
        control: &Control,
        listen: &mut dyn FnMut(Report),
    ) -> Result<Ran> {
        loop {
            let report = match self.reader.reports.recv_timeout(LOOK) {
                Ok(report) => Some(report.context(INVALID)?),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return self.gone(listen),
            };
            if let (Some(cell), Some(step)) = (cell, control.insist()) {
                let request = match step {
                    Step::StopWaiting => Request::StopWaiting,
                    Step::Leave => Request::Leave { cell },
                };
                // A process that has ended needs none.
                let _ = wire::send(&mut &*self.socket, &request);
            }
            match report {
                Some(Report::End(times)) => return Ok(Ran::Ended(times)),
                Some(Report::NotLoaded(why)) => return Ok(Ran::NotLoaded(why)),
                Some(Report::Left { taken }) => return Ok(Ran::Left { taken }),
                Some(report) => listen(report),
                None => {}
            }
        }
    }

    /// Collects the process, which has closed its socket.
    fn gone(&mut self, listen: &mut dyn FnMut(Report)) -> Result<Ran> {
        // It may have closed the socket alone.
        self.kill();
        let status = self.child.wait();
        let status = status.context("cannot wait for the process that runs the cells")?;
        self.reader.finish(listen);
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

/// A cell waits for a line of standard input. If it is dropped without an answer, the cell reads the end of the file.
#[derive(Debug)]
pub struct Question(Option<Arc<UnixStream>>);

impl Question {
    pub(crate) fn new(socket: &Arc<UnixStream>) -> Question {
        Question(Some(socket.clone()))
    }

    /// Answers the cell.
    pub fn answer(mut self, answer: Answer) {
        self.send(answer);
    }

    fn send(&mut self, answer: Answer) {
        if let Some(socket) = self.0.take() {
            // A process that has ended needs no answer.
            let _ = wire::send(&mut &*socket, &Request::Answer(answer));
        }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.send(Answer::End);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
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
