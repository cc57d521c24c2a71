//! The process in which evcxr runs cells: `taper` in it, and the limit of its memory.
//!
//! evcxr does not say when a cell begins and ends. But it reads each instruction to run one, and writes that it has ended,
//! through the symbols `read` and `write` of this program ([`input`](super::input), [`order`](super::order)), on the thread
//! that runs the cells.

use super::announcer::Announcer;
use super::protocol::SECRET_VARIABLE;
use super::{library, limit, order};
use crate::error::{Error, Result};
use rustix::stdio;
use std::sync::OnceLock;
use taper_evaluator::record::Record;
use taper_host::error::Context as _;
use taper_host::process::duplicate;

/// The variable that evcxr sets for this process.
const IS_RUNTIME: &str = "EVCXR_IS_RUNTIME";

/// How an instruction to run a cell begins.
const RUN: &[u8] = b"LOAD_AND_RUN ";

/// What evcxr writes at the end of a cell.
const END: &[u8] = b"EVCXR_EXECUTION_COMPLETE";

static ANNOUNCER: OnceLock<Announcer> = OnceLock::new();

/// Prepares this process, if evcxr has started it to run cells.
pub(crate) fn start() -> Result<()> {
    if std::env::var_os(IS_RUNTIME).is_none() {
        return Ok(());
    }
    limit::apply()?;
    let secret = std::env::var(SECRET_VARIABLE).map_err(|_| Error::Variable(SECRET_VARIABLE))?;
    let output = duplicate(stdio::stdout()).trying("duplicate a stream")?;
    let _ = ANNOUNCER.set(Announcer::new(output, secret)?);
    library::load();
    let _ = order::BEFORE_WRITE.set(before_write);
    Ok(())
}

/// Notes what is about to be written: the end of a cell, before which `taper` shows what is left.
fn before_write(text: &[u8]) {
    if text.starts_with(END) {
        library::flush();
    }
}

/// Notes what was read.
pub(super) fn after_read(text: &[u8]) {
    if let Some(announcer) = ANNOUNCER.get().filter(|_| text.starts_with(RUN)) {
        library::begin_cell();
        let _ = announcer.announce(&Record::Begin);
    }
}
