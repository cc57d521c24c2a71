//! What an exported program wrote, given cell by cell as if they were run now.

use super::digest;
use crate::run::StartEvaluator;
use anyhow::{Context, Result, bail};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use taper_evaluator::decoder::{Decoder, Item};
use taper_evaluator::evaluator::{Completeness, Completions, Evaluator, Front, Interrupt};
use taper_evaluator::event::{CellError, Event, MimeBundle, Stream};
use taper_evaluator::record::{Record, events_of};

/// What the records of a log begin with; `taper` writes it.
const SECRET: &str = "log";

/// The error that a record tells of, in a cell with this source.
pub type ErrorOf = fn(&Record, &str) -> Option<CellError>;

/// An evaluator that gives the log's outputs.
pub struct Log {
    name: String,
    error_of: ErrorOf,
    cells: VecDeque<CellLog>,
}

/// What one cell wrote.
struct CellLog {
    digest: String,
    items: Vec<Item>,
}

/// Starts the evaluator of this log; `error_of` explains failures as a session does.
pub fn evaluator(log: &Path, error_of: ErrorOf) -> Result<Box<StartEvaluator>> {
    let log: PathBuf = std::path::absolute(log)?;
    Log::open(&log, error_of)?;
    Ok(Box::new(move || Ok(Box::new(Log::open(&log, error_of)?))))
}

impl Log {
    pub fn open(path: &Path, error_of: ErrorOf) -> Result<Log> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).with_context(|| format!("reading {name}"))?;
        let cells = cells(&bytes);
        if cells.is_empty() {
            bail!(
                "{name} is no log of an exported notebook\n\
                 Make one with `cargo run --release > {name}` in the folder that `taper export` made"
            );
        }
        Ok(Log {
            name,
            error_of,
            cells,
        })
    }

    /// Passes over cells that only a run, and not a test, asks for.
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
            // What was printed before the first cell is none of theirs.
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
    fn execute(&mut self, code: &str, front: &mut dyn Front) -> Result<(), CellError> {
        let Some(cell) = self.find(&digest(code)) else {
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
                // An exported program does not speak to evcxr.
                Item::Content { .. } | Item::Mark(..) => {}
            }
        }
        if let Err(error) = &result {
            front.event(Event::Error(error.clone()));
        }
        result
    }

    fn complete(&mut self, _code: &str, cursor: usize) -> Completions {
        Completions {
            start: cursor,
            end: cursor,
            items: Vec::new(),
        }
    }

    fn inspect(&mut self, _code: &str, _cursor: usize) -> Option<MimeBundle> {
        None
    }

    fn is_complete(&self, _code: &str) -> Completeness {
        Completeness::Complete
    }

    fn interrupter(&self) -> Arc<dyn Interrupt> {
        Arc::new(AtOnce)
    }
}

fn missing(log: &str) -> CellError {
    CellError {
        name: "NotInLog".into(),
        message: format!(
            "{log} has no outputs of this cell: the cell was changed, or the program ended before it. \
             Export the notebook again and run it to its end."
        ),
        traceback: Vec::new(),
        location: None,
    }
}

/// Nothing here takes long.
struct AtOnce;

impl Interrupt for AtOnce {
    fn interrupt(&self) {}
}
