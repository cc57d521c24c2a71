//! The process in which evcxr runs cells. Cells have in it what they have with Taper's own engine, through the lines that
//! evcxr reads and writes.
//!
//! evcxr does not say when a cell begins and ends. But it reads each instruction to run one, and writes that it has ended,
//! through the symbols `read` and `write` of this program ([`input`], [`order`]), on the thread that runs the cells.
//! - What a cell writes to standard error becomes a record on standard output, so that the order is kept. A record
//!   also ends a line that is not complete, for which evcxr would wait.
//! - A cell that reads standard input asks as the crate `evcxr_input` does.

use super::adapter::{self, Adapter};
use super::announcer::Announcer;
use super::identity::identity;
use super::protocol::SECRET_VARIABLE;
use super::{input, library, limit, order, stop};
use crate::error::{Error, Result};
use rustix::stdio;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use taper_evaluator::event::Stream;
use taper_evaluator::record::Record;
use taper_host::error::Context as _;
use taper_host::process::duplicate;

/// The variable that evcxr sets for this process.
const IS_RUNTIME: &str = "EVCXR_IS_RUNTIME";

/// How an instruction to run a cell begins.
const RUN: &[u8] = b"LOAD_AND_RUN ";

/// How the instruction for a context's first cell ends. While evcxr starts it runs a cell of its own, and waits until
/// what that prints is read, which no thread does yet.
const FIRST: &[u8] = b" run_user_code_0";

/// What evcxr writes at the end of a cell.
const END: &[u8] = b"EVCXR_EXECUTION_COMPLETE";

/// What a cell writes when a `?` has ended it, after the error itself; and when a panic has.
const FAILED: &[u8] = b"EVCXR_ERROR_OCCURRED\n";
const PANICKED: &[u8] = b"EVCXR_PANIC_NOTIFICATION\n";

/// The message of the first, whose own was written to standard error.
const MESSAGE: &str = "A `?` has failed. Its error is above.";

/// How often what a cell printed without a newline is passed on.
const FLUSH: Duration = Duration::from_millis(50);

/// A line with which a cell asks for input.
const ASK: &[u8] = b"EVCXR_INPUT_REQUEST";

static PROCESS: OnceLock<Process> = OnceLock::new();

/// Whether evcxr runs its own first cell.
static IS_FIRST: AtomicBool = AtomicBool::new(false);

/// Whether the last line on standard output is not complete.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Whether a cell has asked for a line, which evcxr answers.
static HAS_ASKED: AtomicBool = AtomicBool::new(false);

/// This process.
struct Process {
    announcer: Arc<Announcer>,
    output: OwnedFd,
    errors: OwnedFd,
}

/// Prepares this process, if evcxr has started it to run cells.
pub(crate) fn start() -> Result<()> {
    if std::env::var_os(IS_RUNTIME).is_none() {
        return Ok(());
    }
    limit::apply()?;
    let secret = std::env::var(SECRET_VARIABLE).map_err(|_| Error::Variable(SECRET_VARIABLE))?;
    let copy = |stream: BorrowedFd<'static>| duplicate(stream).trying("duplicate a stream");
    let announcer = Arc::new(Announcer::new(copy(stdio::stdout())?, secret)?);
    input::attach(copy(stdio::stdin())?, announcer.clone())?;
    library::load();
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(FLUSH);
            library::flush();
        }
    });
    stop::install();
    let _ = PROCESS.set(Process {
        announcer,
        output: copy(stdio::stdout())?,
        errors: copy(stdio::stderr())?,
    });
    adapter::set(Adapter {
        reads_instruction,
        after_read,
        ask,
        after_flush,
        write_mark,
        write_instead,
    });
    Ok(())
}

/// Returns this process, if records are read.
fn process() -> Option<&'static Process> {
    PROCESS.get().filter(|_| !IS_FIRST.load(Ordering::Relaxed))
}

/// Returns whether the calling thread is about to read evcxr's next instruction.
fn reads_instruction() -> bool {
    PROCESS.get().is_some() && stop::is_cell_thread() && !stop::cell_runs()
}

/// Notes an instruction, which may arrive in two parts.
fn after_read(text: &[u8]) {
    if text.starts_with(RUN) {
        let is_first = text.trim_ascii_end().ends_with(FIRST);
        IS_FIRST.store(is_first, Ordering::Relaxed);
    }
    if !text.ends_with(b"\n") {
        return;
    }
    input::set_cell_runs(true);
    stop::set_cell_runs(true);
    library::begin_cell();
    if let Some(process) = process() {
        process.announce(&Record::Begin);
    }
}

/// Asks for a line of input, unless the cell has. evcxr answers with what the adapter returns.
fn ask() {
    if let Some(process) = process()
        && !HAS_ASKED.swap(false, Ordering::Relaxed)
    {
        process.text(Stream::Stdout, "");
        let _ = order::write(&process.output, b"EVCXR_INPUT_REQUEST:\n");
    }
}

/// Ends the last line on standard output, so that evcxr reads it.
fn after_flush() {
    if let Some(process) = process()
        && IS_OPEN.swap(false, Ordering::Relaxed)
    {
        process.text(Stream::Stdout, "");
    }
}

/// Writes evcxr's line, and what the cell printed before it without a newline. Returns whether it is one.
fn write_mark(text: &[u8]) -> bool {
    if !stop::is_cell_thread() {
        return false;
    }
    if text.starts_with(END) {
        return PROCESS.get().is_some_and(|process| process.end_cell(text));
    }
    let Some(process) = process() else {
        return false;
    };
    for (line, message) in [(FAILED, MESSAGE), (PANICKED, "")] {
        if let Some(before) = text.strip_suffix(line) {
            let _ = order::write(&process.output, before);
            process.announce(&Record::Failed {
                message: message.to_owned(),
                file: None,
                line: None,
            });
            IS_OPEN.store(false, Ordering::Relaxed);
            return order::write(&process.output, line).is_ok();
        }
    }
    false
}

/// Writes what a cell is about to write to standard error. Returns `false` if it is to be written as it is.
fn write_instead(fd: i32, text: &[u8]) -> bool {
    let Some(process) = process() else {
        return false;
    };
    if fd == 2 {
        let is_ours = identity(&process.errors) == identity(stdio::stderr());
        if is_ours {
            process.text(Stream::Stderr, &String::from_utf8_lossy(text));
        }
        return is_ours;
    }
    IS_OPEN.store(!text.ends_with(b"\n"), Ordering::Relaxed);
    if text.starts_with(ASK) {
        HAS_ASKED.store(true, Ordering::Relaxed);
    }
    false
}

impl Process {
    fn announce(&self, record: &Record) {
        let _ = self.announcer.announce(record);
    }

    fn text(&self, stream: Stream, text: &str) {
        let text = text.to_owned();
        self.announce(&Record::Text { stream, text });
    }

    /// Shows what is left of the cell's output and puts its streams back, before evcxr's line says that it has ended.
    fn end_cell(&self, line: &[u8]) -> bool {
        stop::set_cell_runs(false);
        let _ = stdio::dup2_stdout(self.output.as_fd());
        let _ = stdio::dup2_stderr(self.errors.as_fd());
        library::flush();
        if process().is_some() {
            self.text(Stream::Stdout, "");
        }
        input::set_cell_runs(false);
        HAS_ASKED.store(false, Ordering::Relaxed);
        order::write(&self.output, line).is_ok()
    }
}
