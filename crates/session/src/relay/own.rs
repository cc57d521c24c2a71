//! What a session adds to the process in which our own engine runs cells: `taper`, input, the order of the
//! output, and the limit of its memory.

use super::announcer::Announcer;
use super::library::{self, TaperLibrary};
use super::protocol::{ANSWERS_VARIABLE, SECRET_VARIABLE};
use super::{input, limit, order, pipes, stop};
use crate::error::{Error, Result};
use rustix::stdio;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;

/// The session's part of the process.
pub(crate) struct OwnCells;

impl taper_engine::Host for OwnCells {
    fn start(&self) -> io::Result<()> {
        start().map_err(|error| io::Error::other(taper_host::error::describe(&error)))
    }

    fn begin_cell(&self) {
        input::set_cell_runs(true);
        stop::set_cell_runs(true);
        library::begin_cell();
    }

    fn end_cell(&self) {
        stop::set_cell_runs(false);
        library::flush();
        input::set_cell_runs(false);
    }

    fn is_error(&self) -> bool {
        library::panic_is_error()
    }
}

fn start() -> Result<()> {
    limit::apply()?;
    let output = pipes::duplicate(stdio::stdout())?;
    order::keep_order(output.as_raw_fd());
    let secret = std::env::var(SECRET_VARIABLE).map_err(|_| Error::Variable(SECRET_VARIABLE))?;
    let announcer = Arc::new(Announcer::new(output, secret)?);
    let answers = std::env::var(ANSWERS_VARIABLE).ok();
    let answers: i32 = answers
        .and_then(|answers| answers.parse().ok())
        .ok_or(Error::Variable(ANSWERS_VARIABLE))?;
    // SAFETY: the session has passed this descriptor on, and nothing has closed it yet.
    let answers = unsafe { BorrowedFd::borrow_raw(answers) };
    input::attach(pipes::duplicate(answers)?, announcer)?;
    TaperLibrary::load_at_start();
    stop::install();
    Ok(())
}
