//! Finds the cells in which something has failed.

use crate::error::{Fault, Place};
use crate::process::wire;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use taper_host::mutex::lock;

/// The cells by the names of their files.
#[derive(Clone, Default)]
pub(crate) struct Sources(Arc<Mutex<HashMap<String, Source>>>);

struct Source {
    /// The last number with this text.
    number: u32,
    text: Arc<str>,
}

impl Sources {
    /// Adds a cell.
    pub(crate) fn insert(&self, file: String, number: u32, text: &str) {
        let text = text.into();
        lock(&self.0).insert(file, Source { number, text });
    }

    /// Returns the text of a line of a cell.
    pub(crate) fn line(&self, place: Place) -> Option<String> {
        let sources = lock(&self.0);
        let mut sources = sources.values();
        let source = sources.find(|it| it.number == place.cell)?;
        let line = source.text.lines().nth(place.line.checked_sub(1)?)?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    /// Finds the cell in which a fault has happened.
    pub(crate) fn fault(&self, fault: wire::Fault) -> Fault {
        let file = fault.file.rsplit('/').next().unwrap_or_default();
        let sources = lock(&self.0);
        let cell = sources.get(file.split('.').next().unwrap_or_default());
        let place = cell.map(|cell| Place {
            cell: cell.number,
            line: fault.line,
        });
        Fault {
            message: fault.message,
            place,
            is_error: fault.is_error,
        }
    }
}
