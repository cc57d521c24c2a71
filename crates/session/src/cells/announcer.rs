//! Writes records to the session from the cells process itself, whatever a cell did to its streams.

use super::identity::identity;
use super::order;
use crate::error::{Error, Result};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use taper_evaluator::record::{MARK, Record};
use taper_host::error::Context as _;

/// Writes records to the session.
pub(super) struct Announcer {
    output: OwnedFd,
    /// Identifies the output pipe: a cell may have closed it, and another file may have its descriptor
    /// now.
    identity: (u64, u64),
    secret: String,
}

impl Announcer {
    /// Creates an announcer that writes to `output`. Each record begins with `secret`.
    pub(super) fn new(output: OwnedFd, secret: String) -> Result<Announcer> {
        Ok(Announcer {
            identity: identity(&output).trying("inspect a pipe")?,
            output,
            secret,
        })
    }

    /// Writes a record to the session, after all that the cell wrote, whatever the cell did
    /// to its streams.
    pub(super) fn announce(&self, record: &Record) -> Result<()> {
        if identity(&self.output) != Ok(self.identity) {
            return Err(Error::Closed);
        }
        let json = serde_json::to_string(record).map_err(Error::json("a record"))?;
        let text = format!("{MARK}{} {json}\n", self.secret);
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match order::write(&self.output, rest) {
                // A cell may have set the pipe to non-blocking.
                Err(Errno::AGAIN) => {
                    let mut pipe = [PollFd::new(&self.output, PollFlags::OUT)];
                    let _ = rustix::event::poll(&mut pipe, None);
                }
                Err(Errno::INTR) => {}
                written => rest = &rest[written.trying("announce the end of a cell")?..],
            }
        }
        Ok(())
    }
}
