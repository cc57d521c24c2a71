//! A chapter's outputs on another machine, in a file beside the notebook: `09-gpus.gpu.json` holds what
//! the cells of `09-gpus.ipynb` showed on a GPU. The notebook keeps its own outputs, those that tests
//! compare; the book shows both.

use crate::export::digest;
use crate::run::execute::Execution;
use crate::run::notebook::Notebook;
use crate::run::save;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The outputs of a run on another machine.
#[derive(Debug, Serialize, Deserialize)]
pub struct Elsewhere {
    /// The machine as its tab names it: `NVIDIA H200`.
    pub machine: String,
    /// By the id of the cell.
    cells: BTreeMap<String, CellOutputs>,
}

#[derive(Debug, Serialize, Deserialize)]
struct CellOutputs {
    /// Of the source that ran: outputs of an older cell are not shown.
    digest: String,
    outputs: Vec<Value>,
}

impl Elsewhere {
    /// The file beside this notebook.
    pub fn file_of(notebook: &Path) -> PathBuf {
        notebook.with_extension("gpu.json")
    }

    /// What lies beside this notebook, if anything does.
    pub fn beside(notebook: &Path) -> Result<Option<Elsewhere>> {
        let file = Elsewhere::file_of(notebook);
        let text = match std::fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("reading {}", file.display())),
        };
        let read = serde_json::from_slice(&text).with_context(|| {
            format!(
                "{}: holds no outputs of another machine\n\
                 Write it again with `taper run --machine`, or remove it",
                file.display()
            )
        })?;
        Ok(Some(read))
    }

    /// What the cells of a run have shown. The notebook holds its outputs already.
    pub fn of(notebook: &Notebook, execution: &Execution, machine: &str) -> Result<Elsewhere> {
        let document: Value = serde_json::from_str(&save::layout(notebook))?;
        let cells = execution.ran().map(|(index, _)| {
            let cell = &notebook.cells[index];
            let stored = &document["cells"][cell.position]["outputs"];
            let outputs = CellOutputs {
                digest: digest(&cell.source),
                outputs: stored.as_array().cloned().unwrap_or_default(),
            };
            (cell.id.clone(), outputs)
        });
        Ok(Elsewhere {
            machine: machine.to_owned(),
            cells: cells.collect(),
        })
    }

    /// The file's text: a line for each line of output, so that a change is easy to see.
    pub fn layout(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// What the cell showed there, if it is still the cell that ran.
    pub fn outputs(&self, id: &str, source: &str) -> Option<&[Value]> {
        let cell = self.cells.get(id)?;
        (cell.digest == digest(source)).then_some(&cell.outputs)
    }
}
