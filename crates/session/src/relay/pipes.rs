//! The pipes of the cells process, also for cells that close or replace their standard streams.
//!
//! Instructions arrive on descriptor 0 and the end of a cell is announced on descriptor 1, and a cell may
//! close both or lead them elsewhere. So this process uses duplicates of its own, and opens again what a
//! cell has closed, for the next cell.

use super::order;
use crate::error::{Error, Result};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::stdio;
use std::fs::File;
use std::io::{BufRead, BufReader, Lines};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// Where the duplicates are numbered from: above what a cell closes by a wrong number.
const FIRST: i32 = 200;

/// The pipes with which this process was started.
pub(super) struct Pipes {
    instructions: Lines<BufReader<File>>,
    /// Descriptors 0, 1 and 2.
    streams: [OwnedFd; 3],
    /// Distinguishes the output pipe from a file that got its number after a cell had closed it.
    output: (u64, u64),
}

impl Pipes {
    /// Duplicates the standard streams of this process.
    pub(super) fn new() -> Result<Pipes> {
        let streams = [
            duplicate(stdio::stdin())?,
            duplicate(stdio::stdout())?,
            duplicate(stdio::stderr())?,
        ];
        order::keep_order(streams[1].as_raw_fd());
        let instructions = File::from(duplicate(stdio::stdin())?);
        Ok(Pipes {
            output: identity(&streams[1]).map_err(Error::system("look at a pipe"))?,
            instructions: BufReader::new(instructions).lines(),
            streams,
        })
    }

    /// Waits for the next instruction; `None` when the session has ended.
    pub(super) fn instruction(&mut self) -> Option<std::io::Result<String>> {
        self.instructions.next()
    }

    /// Writes to the session after all that the cell wrote, whatever the cell did to its streams.
    pub(super) fn announce(&self, text: &str) -> Result<()> {
        let output = &self.streams[1];
        if identity(output) != Ok(self.output) {
            return Err(Error::Closed);
        }
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match order::write(output, rest) {
                Ok(count) => rest = &rest[count..],
                // A cell may have set the pipe to non-blocking.
                Err(Errno::AGAIN) => {
                    let mut pipe = [PollFd::new(output, PollFlags::OUT)];
                    let _ = rustix::event::poll(&mut pipe, None);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(Error::system("announce the end of a cell")(error)),
            }
        }
        Ok(())
    }

    /// Opens the standard streams again that a cell has closed.
    pub(super) fn restore(&self) {
        let closed = |fd| {
            // SAFETY: the number is only asked about; it may belong to no open file.
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            rustix::io::fcntl_getfd(fd) == Err(Errno::BADF)
        };
        let [input, output, errors] = &self.streams;
        // What fails here, fails in the cell that uses it.
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

fn duplicate(stream: BorrowedFd) -> Result<OwnedFd> {
    let high = rustix::io::fcntl_dupfd_cloexec(stream, FIRST);
    // Where a process may open fewer files.
    let duplicate = high.or_else(|_| rustix::io::fcntl_dupfd_cloexec(stream, 3));
    duplicate.map_err(Error::system("duplicate a stream"))
}

fn identity(file: &OwnedFd) -> rustix::io::Result<(u64, u64)> {
    let stat = rustix::fs::fstat(file)?;
    Ok((stat.st_dev, stat.st_ino))
}
