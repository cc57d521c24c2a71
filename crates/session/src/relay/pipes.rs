//! The pipes of the cells process, also for cells that close or replace their standard streams.
//!
//! Instructions arrive on descriptor 0 and the end of a cell is announced on descriptor 1, and a cell
//! may close or redirect both. So this process uses duplicates of its own, and reopens for the next cell
//! what a cell has closed. Descriptor 0 becomes the null device ([`input`]).

use super::announcer::Announcer;
use super::{input, order};
use crate::error::{Error, Result};
use rustix::io::Errno;
use rustix::stdio;
use std::fs::File;
use std::io::{BufRead, BufReader, Lines};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use taper_evaluator::record::{Record, Times};

/// The lowest descriptor of the duplicates, so high that a cell hardly closes one by mistake.
const FIRST: i32 = 200;

/// The pipes with which this process was started.
pub(super) struct Pipes {
    instructions: Lines<BufReader<File>>,
    /// Descriptors 0, 1 and 2.
    streams: [OwnedFd; 3],
    announcer: Arc<Announcer>,
}

impl Pipes {
    /// Duplicates the standard streams of this process. Announcements begin with `secret`.
    pub(super) fn new(secret: String) -> Result<Pipes> {
        let output = duplicate(stdio::stdout())?;
        order::keep_order(output.as_raw_fd());
        let announcer = Arc::new(Announcer::new(output, secret)?);
        let instructions = File::from(duplicate(stdio::stdin())?);
        input::attach(duplicate(stdio::stdin())?, announcer.clone())?;
        Ok(Pipes {
            instructions: BufReader::new(instructions).lines(),
            streams: [
                duplicate(stdio::stdin())?,
                duplicate(stdio::stdout())?,
                duplicate(stdio::stderr())?,
            ],
            announcer,
        })
    }

    /// Waits for the next instruction. Returns `None` when the session has ended.
    pub(super) fn instruction(&mut self) -> Option<std::io::Result<String>> {
        self.instructions.next()
    }

    /// Announces that a cell begins.
    pub(super) fn begin_cell(&self) -> Result<()> {
        self.announcer.announce(&Record::Begin)?;
        input::set_cell_runs(true);
        Ok(())
    }

    /// Announces that the cell has ended.
    pub(super) fn end_cell(&self, times: Times) -> Result<()> {
        input::set_cell_runs(false);
        self.restore();
        self.announcer.announce(&Record::Ran(times))?;
        self.announcer.announce(&Record::Complete)
    }

    /// Reopens the standard streams that a cell has closed.
    fn restore(&self) {
        let closed = |fd| {
            // SAFETY: the descriptor is only inspected, which fails if it is not open.
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            rustix::io::fcntl_getfd(fd) == Err(Errno::BADF)
        };
        let [input, output, errors] = &self.streams;
        // An error here shows in the next cell that uses the stream.
        if closed(0) {
            let _ = stdio::dup2_stdin(input);
        }
        if closed(1) {
            let _ = stdio::dup2_stdout(output);
        }
        if closed(2) {
            let _ = stdio::dup2_stderr(errors);
        }
    }
}

pub(super) fn duplicate(stream: BorrowedFd) -> Result<OwnedFd> {
    let high = rustix::io::fcntl_dupfd_cloexec(stream, FIRST);
    // The system may allow fewer open files.
    let duplicate = high.or_else(|_| rustix::io::fcntl_dupfd_cloexec(stream, 3));
    duplicate.map_err(Error::system("duplicate a stream"))
}
