//! An evaluator that replays the log of an exported program instead of running the cells.

use crate::digest::source_digest;
use crate::error::{Error, Result};
use crate::execution::start::StartEvaluator;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use taper_evaluator::decoder::{Decoder, Item};
use taper_evaluator::evaluator::{CellName, Evaluator, Front, Interrupt};
use taper_evaluator::event::{CellError, Event, Stream};
use taper_evaluator::record::{Record, events_of};

/// The secret in the records of a log, as `taper` writes it.
const SECRET: &str = "log";

/// A function that returns the error that a record reports, for a cell with the given source.
pub type ErrorOf = fn(&Record, &str) -> Option<CellError>;

/// An evaluator that replays the outputs in a log.
struct Log {
    name: String,
    error_of: ErrorOf,
    cells: VecDeque<CellLog>,
}

/// The output of one cell in the log.
struct CellLog {
    digest: String,
    items: Vec<Item>,
}

/// Returns a function that starts an evaluator of this log; `error_of` explains failures as a session
/// does.
///
/// # Errors
///
/// Fails if the file cannot be read or is not a log.
pub fn log_evaluator(log: &Path, error_of: ErrorOf) -> Result<Box<StartEvaluator>> {
    let log = std::path::absolute(log).map_err(Error::file("find", log))?;
    Log::open(&log, error_of)?;
    Ok(Box::new(move || Ok(Box::new(Log::open(&log, error_of)?))))
}

impl Log {
    fn open(path: &Path, error_of: ErrorOf) -> Result<Log> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(Error::file("read", path))?;
        let cells = cells(&bytes);
        if cells.is_empty() {
            return Err(Error::NotALog { log: name });
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

fn cells(bytes: &[u8]) -> VecDeque<CellLog> {
    let mut decoder = Decoder::new(SECRET);
    let mut items = decoder.push(bytes);
    items.extend(decoder.rest(true));
    let mut cells: VecDeque<CellLog> = VecDeque::new();
    for item in items {
        match item {
            Item::Record(Record::Cell { digest, .. }) => cells.push_back(CellLog {
                digest,
                items: Vec::new(),
            }),
            // Text printed before the first cell belongs to no cell.
            item => {
                if let Some(cell) = cells.back_mut() {
                    cell.items.push(item);
                }
            }
        }
    }
    cells
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
        for item in cell.items {
            match item {
                Item::Text(text) => {
                    let stream = Stream::Stdout;
                    front.event(Event::Text { stream, text });
                }
                Item::Record(record) => {
                    if let Some(error) = (self.error_of)(&record, code) {
                        result = Err(error);
                    }
                    events_of(record)
                        .into_iter()
                        .for_each(|event| front.event(event));
                }
                // An exported program shows values and asks for input in other ways.
                Item::Content { .. } | Item::Prompt { .. } => {}
            }
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
