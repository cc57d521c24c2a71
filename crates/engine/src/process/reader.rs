//! Reads what the process that runs the cells prints and reports, also while no cell runs.
//!
//! A thread waits for the socket and the two pipes. While a request is answered, it passes everything on to the engine, in
//! order. What a thread of an earlier cell prints goes to [`Late`] at once, with the number of that cell: the process
//! marks it. What comes through the pipes between two cells is the last cell's.

use super::wire::{self, Message, Report};
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags};
use std::collections::HashMap;
use std::io::{self, PipeReader, Read};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use taper_evaluator::text::Text;
use taper_evaluator::{Event, Stream};
use taper_host::mutex::lock;

/// How many events wait for the engine. Then the reader waits, and soon the cell does.
const QUEUE: usize = 64;

/// Receives what threads of earlier cells print and show, and their panics, with the number of their cell.
pub(crate) type Late = Arc<Mutex<Box<dyn FnMut(u32, Report) + Send>>>;

/// The thread, and what it has read for the engine.
pub(crate) struct Reader {
    pub(crate) reports: Receiver<io::Result<Report>>,
    turn: Arc<Mutex<Turn>>,
    thread: Option<JoinHandle<Streams>>,
}

/// Whose turn it is.
#[derive(Clone, Copy, Default)]
struct Turn {
    /// The last cell that was run.
    cell: u32,
    /// Whether a request is answered.
    is_busy: bool,
}

impl Reader {
    /// Starts to read.
    pub(crate) fn start(socket: UnixStream, streams: Streams, late: Late) -> Result<Reader> {
        let (sender, reports) = sync_channel(QUEUE);
        let turn = Arc::<Mutex<Turn>>::default();
        let reading = Reading {
            socket,
            streams,
            to: Receivers {
                reports: sender,
                turn: turn.clone(),
                late,
                texts: HashMap::new(),
            },
        };
        let thread = std::thread::Builder::new().name("cells".to_owned());
        let thread = thread.spawn(move || reading.run());
        Ok(Reader {
            reports,
            turn,
            thread: Some(thread.context("cannot start a thread")?),
        })
    }

    /// Passes on what is read, until the request has ended. `cell` is the cell that it runs.
    pub(crate) fn begin(&self, cell: Option<u32>) {
        let mut turn = lock(&self.turn);
        turn.is_busy = true;
        turn.cell = cell.unwrap_or(turn.cell);
    }

    /// Passes on what a process that has ended has printed last.
    pub(crate) fn finish(&mut self, listen: &mut dyn FnMut(Report)) {
        // Until the thread has ended.
        self.reports.iter().flatten().for_each(&mut *listen);
        let Some(Ok(mut streams)) = self.thread.take().map(JoinHandle::join) else {
            return;
        };
        let mut pass_on = |stream, text| listen(Report::Shown(Event::Text { stream, text }));
        streams.read(&mut pass_on);
        streams.finish(&mut pass_on);
    }
}

/// What the thread uses.
struct Reading {
    socket: UnixStream,
    streams: Streams,
    to: Receivers,
}

/// The sides that receive what is read.
struct Receivers {
    reports: SyncSender<io::Result<Report>>,
    turn: Arc<Mutex<Turn>>,
    late: Late,
    /// Characters that are not complete, of threads of earlier cells.
    texts: HashMap<(u32, Stream), Text>,
}

impl Reading {
    /// Reads until the process closes the socket. Returns the pipes, which may still contain something.
    fn run(mut self) -> Streams {
        while let Some(result) = self.read().transpose() {
            if let Err(error) = result {
                let _ = self.to.reports.send(Err(error));
                break;
            }
        }
        self.streams
    }

    /// Waits, and reads what there is. Returns `None` after the end of the socket.
    fn read(&mut self) -> io::Result<Option<()>> {
        let is_ready = self.streams.wait(&self.socket)?;
        // What a cell prints precedes what it reports.
        let to = &mut self.to;
        self.streams.read(&mut |stream, text| to.text(stream, text));
        if !is_ready {
            return Ok(Some(()));
        }
        let Some(message) = wire::receive_message(&mut self.socket)? else {
            return Ok(None);
        };
        match message {
            Message::Printed {
                cell,
                stream,
                bytes,
            } => to.printed(cell, stream, &bytes),
            Message::Package { cell, report } => to.of_cell(cell, report),
            Message::Report(report) => {
                if matches!(
                    report,
                    Report::End(_) | Report::Left { .. } | Report::NotLoaded(_)
                ) {
                    self.streams
                        .finish(&mut |stream, text| to.text(stream, text));
                }
                to.report(report);
            }
        }
        Ok(Some(()))
    }
}

impl Receivers {
    /// Passes on what came through a pipe.
    fn text(&self, stream: Stream, text: String) {
        let turn = *lock(&self.turn);
        self.in_turn(turn.cell, Report::Shown(Event::Text { stream, text }), turn);
    }

    /// Passes on what a thread of a cell has printed.
    fn printed(&mut self, cell: u32, stream: Stream, bytes: &[u8]) {
        let turn = *lock(&self.turn);
        let text = self.texts.entry((cell, stream)).or_default();
        let text = text.push(bytes, false);
        if !text.is_empty() {
            self.in_turn(cell, Report::Shown(Event::Text { stream, text }), turn);
        }
    }

    /// Passes on what happens in a cell: in the one that runs if it is none in particular.
    fn of_cell(&self, cell: Option<u32>, report: Report) {
        let turn = *lock(&self.turn);
        self.in_turn(cell.unwrap_or(turn.cell), report, turn);
    }

    fn report(&self, report: Report) {
        let turn = *lock(&self.turn);
        match report {
            Report::ThreadPanic { cell, .. } => self.of_cell(cell, report),
            Report::End(_) | Report::Left { .. } | Report::NotLoaded(_) => {
                lock(&self.turn).is_busy = false;
                self.pass_on(report);
            }
            report if turn.is_busy => self.pass_on(report),
            // A thread that was left has nothing to report.
            _ => {}
        }
    }

    /// Passes on what happens in a cell: to the engine if it runs, and otherwise to who listens to earlier cells.
    fn in_turn(&self, cell: u32, report: Report, turn: Turn) {
        match turn.is_busy && cell == turn.cell {
            true => self.pass_on(report),
            false => lock(&self.late)(cell, report),
        }
    }

    fn pass_on(&self, report: Report) {
        // Without an engine, the process is about to be killed.
        let _ = self.reports.send(Ok(report));
    }
}

/// The streams that the cells write to.
pub(crate) struct Streams([Output; 2]);

/// A stream that the cells write to.
struct Output {
    stream: Stream,
    /// `None` after its end.
    pipe: Option<PipeReader>,
    text: Text,
}

type Listen<'a> = dyn FnMut(Stream, String) + 'a;

impl Streams {
    pub(crate) fn new(stdout: PipeReader, stderr: PipeReader) -> Result<Streams> {
        Ok(Streams([
            Output::new(Stream::Stdout, stdout)?,
            Output::new(Stream::Stderr, stderr)?,
        ]))
    }

    /// Waits for anything to read. Returns whether the socket has something.
    fn wait(&self, socket: &UnixStream) -> io::Result<bool> {
        let mut polled = vec![PollFd::new(socket, PollFlags::IN)];
        let pipes = self.0.iter().filter_map(|output| output.pipe.as_ref());
        polled.extend(pipes.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        match rustix::event::poll(&mut polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(!polled[0].revents().is_empty()),
            Err(error) => Err(error.into()),
        }
    }

    /// Passes on what the pipes contain.
    fn read(&mut self, listen: &mut Listen) {
        for output in self.0.iter_mut().rev() {
            output.read(listen);
        }
    }

    /// Passes on characters that a cell has left incomplete.
    fn finish(&mut self, listen: &mut Listen) {
        for output in &mut self.0 {
            output.pass_on(&[], true, listen);
        }
    }
}

impl Output {
    fn new(stream: Stream, pipe: PipeReader) -> Result<Output> {
        rustix::io::ioctl_fionbio(&pipe, true).context("cannot set up a pipe")?;
        Ok(Output {
            stream,
            pipe: Some(pipe),
            text: Text::default(),
        })
    }

    /// Reads until the pipe is empty.
    fn read(&mut self, listen: &mut Listen) {
        let mut buffer = [0; 1 << 16];
        while let Some(pipe) = &mut self.pipe {
            let count = match pipe.read(&mut buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // As at its end.
                Err(_) => 0,
            };
            if count == 0 {
                self.pipe = None;
            }
            self.pass_on(&buffer[..count], count == 0, listen);
            if count < buffer.len() {
                break;
            }
        }
    }

    fn pass_on(&mut self, bytes: &[u8], is_end: bool, listen: &mut Listen) {
        let text = self.text.push(bytes, is_end);
        if !text.is_empty() {
            listen(self.stream, text);
        }
    }
}
