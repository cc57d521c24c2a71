//! An evaluator that replays the log of an exported program instead of running the cells.

use crate::digest::source_digest;
use crate::execution::start::StartEvaluator;
use anyhow::{Result, bail};
use serde::Deserialize;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use taper_evaluator::decoder::{Decoder, Item};
use taper_evaluator::evaluator::{CellName, Evaluator, Front, Interrupt};
use taper_evaluator::event::{CellError, Event, thread_panic};
use taper_evaluator::run::Failed;
use taper_host::error::OnFile as _;

/// What precedes each entry of a log, as `taper` writes it.
const MARK: &str = "\x1elog ";

/// A function that returns the error for a failure with this message, in a cell with this source.
pub type ErrorOf = fn(Failed, &str, &str) -> CellError;

/// An entry of a log: one line of JSON.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Entry {
    /// A cell begins.
    Cell { digest: String },
    /// A `?` failed.
    Failed { message: String },
    /// The cell's thread panicked.
    Panic {
        message: String,
        #[serde(default)]
        is_error: bool,
    },
    /// Another thread panicked.
    ThreadPanic {
        thread: Option<String>,
        message: String,
    },
    #[serde(untagged)]
    Shown(Event),
}

/// An evaluator that replays the outputs in a log.
struct Log {
    name: String,
    error_of: ErrorOf,
    cells: VecDeque<CellLog>,
}

/// The output of one cell in the log.
struct CellLog {
    digest: String,
    entries: Vec<Entry>,
}

/// Returns a function that starts an evaluator of this log; `error_of` explains failures as a session
/// does.
///
/// # Errors
///
/// Fails if the file cannot be read or is not a log.
pub fn log_evaluator(log: &Path, error_of: ErrorOf) -> Result<Box<StartEvaluator>> {
    let log = std::path::absolute(log).on_file("find", log)?;
    Log::open(&log, error_of)?;
    Ok(Box::new(move || Ok(Box::new(Log::open(&log, error_of)?))))
}

impl Log {
    fn open(path: &Path, error_of: ErrorOf) -> Result<Log> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).on_file("read", path)?;
        let cells = cells(&bytes);
        if cells.is_empty() {
            bail!(
                "{name} is not the log of an exported notebook\n\
                 Make one with `cargo run --release > {name}` in the folder that `taper export` made"
            );
        }
        Ok(Log {
            name,
            error_of,
            cells,
        })
    }

    /// Returns the next cell with this digest, and removes the cells before it: a test does not execute all
    /// cells that the program ran.
    fn find(&mut self, digest: &str) -> Option<CellLog> {
        let at = self.cells.iter().position(|cell| cell.digest == digest)?;
        self.cells.drain(..at);
        self.cells.pop_front()
    }
}

fn cells(log: &[u8]) -> VecDeque<CellLog> {
    let log = String::from_utf8_lossy(log);
    let mut cells: VecDeque<CellLog> = VecDeque::new();
    // What was printed before the first cell belongs to no cell.
    for part in log.split(MARK).skip(1) {
        let (line, printed) = part.split_once('\n').unwrap_or((part, ""));
        let (entry, printed) = match serde_json::from_str(line) {
            Ok(entry) => (Some(entry), printed.to_owned()),
            // The cell has printed the mark.
            Err(_) => (None, format!("{MARK}{part}")),
        };
        if let Some(Entry::Cell { digest }) = entry {
            let entries = texts(&printed).collect();
            cells.push_back(CellLog { digest, entries });
        } else if let Some(cell) = cells.back_mut() {
            cell.entries
                .extend(entry.into_iter().chain(texts(&printed)));
        }
    }
    cells
}

/// Returns what was printed between two entries. An exported program shows values and asks for input in other ways than with
/// evcxr's marks.
fn texts(printed: &str) -> impl Iterator<Item = Entry> {
    let mut decoder = Decoder::default();
    let items = decoder.push(printed.as_bytes()).into_iter();
    let items = items.chain(decoder.rest(true));
    items.filter_map(|item| match item {
        Item::Text(text) => Some(Entry::Shown(Event::stdout(text))),
        Item::Content { .. } | Item::Prompt { .. } => None,
    })
}

impl Evaluator for Log {
    fn execute(
        &mut self,
        code: &str,
        _cell: Option<&CellName>,
        front: &mut dyn Front,
    ) -> std::result::Result<(), CellError> {
        let Some(cell) = self.find(&source_digest(code)) else {
            let error = missing(&self.name);
            front.event(Event::Error(error.clone()));
            return Err(error);
        };
        let mut result = Ok(());
        for entry in cell.entries {
            let (failed, message) = match entry {
                Entry::Shown(event) => {
                    front.event(event);
                    continue;
                }
                Entry::ThreadPanic { thread, message } => {
                    front.event(thread_panic(thread.as_deref(), None, &message));
                    continue;
                }
                Entry::Failed { message } => (Failed::QuestionMark, message),
                Entry::Panic { message, is_error } => match is_error {
                    true => (Failed::Raised, message),
                    false => (Failed::Panic, message),
                },
                Entry::Cell { .. } => continue,
            };
            result = Err((self.error_of)(failed, &message, code));
        }
        if let Err(error) = &result {
            front.event(Event::Error(error.clone()));
        }
        result
    }

    fn interrupter(&self) -> Arc<dyn Interrupt> {
        Arc::new(NotNeeded)
    }
}

fn missing(log: &str) -> CellError {
    CellError {
        name: "NotInLog".into(),
        message: format!(
            "{log} has no outputs of this cell: the cell has changed, or the program ended before it. \
             Export the notebook again and run it to its end."
        ),
        traceback: Vec::new(),
        location: None,
    }
}

/// Replaying a cell takes no time, so there is nothing to interrupt.
struct NotNeeded;

impl Interrupt for NotNeeded {
    fn interrupt(&self) {}
}
