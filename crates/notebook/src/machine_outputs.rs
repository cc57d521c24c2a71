//! The outputs of a chapter on another machine, in a file beside the notebook: `33-gpus.gpu.json`
//! holds the outputs of `33-gpus.ipynb` on a GPU. The notebook keeps its own outputs, with which tests
//! compare; the book shows both.

use crate::digest::source_digest;
use crate::document::layout::layout;
use crate::document::notebook::Notebook;
use crate::execution::execute::Execution;
use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use taper_evaluator::joined;
use taper_host::error::OnFile as _;

/// The outputs of a run on another machine.
#[derive(Debug, Serialize, Deserialize)]
pub struct MachineOutputs {
    /// The machine's name, the title of its tab in the book: `NVIDIA H200`.
    pub machine: String,
    /// The outputs of each cell, by its id.
    cells: BTreeMap<String, CellOutputs>,
}

#[derive(Debug, Serialize, Deserialize)]
struct CellOutputs {
    /// The digest of the source that ran: if the source has changed since, the outputs are not shown.
    digest: String,
    outputs: Vec<Value>,
}

/// Returns whether a text shows what a chapter claims.
fn is_shown(claim: &Value, shown: &str) -> bool {
    if let Some(text) = claim.as_str() {
        return shown.contains(text);
    }
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | '-');
    let words = shown.split(|c: char| !is_part(c));
    let mut numbers = words.filter_map(|word| word.trim_end_matches('.').parse::<f64>().ok());
    let index = claim["number"].as_u64().unwrap_or_default() as usize;
    let bounds = [claim["above"].as_f64(), claim["below"].as_f64()];
    let Some(number) = index.checked_sub(1).and_then(|index| numbers.nth(index)) else {
        return false;
    };
    match bounds {
        [None, None] => false,
        [above, below] => {
            above.is_none_or(|least| number > least) && below.is_none_or(|most| number < most)
        }
    }
}

/// Returns what an output shows as text.
fn plain(output: &Value) -> String {
    joined(&output["text"]) + &joined(&output["data"]["text/plain"])
}

impl MachineOutputs {
    /// Returns the path of the file beside this notebook.
    pub(crate) fn path(notebook: &Path) -> PathBuf {
        notebook.with_extension("gpu.json")
    }

    /// Returns the path of the file with the frames of a notebook's sliders.
    pub fn frames_path(notebook: &Path) -> PathBuf {
        notebook.with_extension("frames.json")
    }

    /// Reads the file beside this notebook, if there is one.
    ///
    /// # Errors
    ///
    /// Fails if the file exists but cannot be read or parsed.
    pub fn beside(notebook: &Path) -> Result<Option<MachineOutputs>> {
        MachineOutputs::read(MachineOutputs::path(notebook))
    }

    /// Reads the outputs with frames beside this notebook, if there are any.
    ///
    /// # Errors
    ///
    /// Fails if the file exists but cannot be read or parsed.
    pub fn frames_beside(notebook: &Path) -> Result<Option<MachineOutputs>> {
        MachineOutputs::read(MachineOutputs::frames_path(notebook))
    }

    fn read(path: PathBuf) -> Result<Option<MachineOutputs>> {
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.on_file("read", &path)?,
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            anyhow!(
                "{}: expected the outputs of another machine: {error}\n\
                 Write it again with `taper run --machine`, or remove it",
                path.display()
            )
        })
    }

    /// Collects the outputs of a run, which are already in the notebook's document.
    pub(crate) fn new(notebook: &Notebook, execution: &Execution, machine: &str) -> MachineOutputs {
        let document: Value =
            serde_json::from_str(&layout(notebook)).expect("a notebook is written as JSON");
        let cells = execution.ran().map(|(index, _)| {
            let cell = &notebook.cells[index];
            let stored = &document["cells"][cell.position]["outputs"];
            let outputs = CellOutputs {
                digest: source_digest(&cell.source),
                outputs: stored.as_array().cloned().unwrap_or_default(),
            };
            (cell.id.clone(), outputs)
        });
        MachineOutputs {
            machine: machine.to_owned(),
            cells: cells.collect(),
        }
    }

    /// Returns what the chapter says of the other machine and these outputs do not show. The metadata of a cell,
    /// `{"taper": {"on_gpu": [CLAIM…]}}`, lists texts that its outputs contain, and bounds of their values, the first of
    /// which is 1: `{"number": 2, "below": 50}`, or `above`. The notebook is its document, as JSON.
    pub fn refuted(&self, notebook: &Value) -> Vec<String> {
        let cells = notebook["cells"].as_array().into_iter().flatten();
        let of_cell = |cell: &Value| {
            let id = cell["id"].as_str().unwrap_or_default();
            let outputs = self.outputs(id, &joined(&cell["source"]))?;
            let shown: String = outputs.iter().map(plain).collect();
            let claims = cell["metadata"]["taper"]["on_gpu"].as_array()?.iter();
            let refuted = claims.filter(|claim| !is_shown(claim, &shown));
            let line = |claim: &Value| {
                format!("{id}: expected {claim} on {}, found\n{shown}", self.machine)
            };
            Some(refuted.map(line).collect::<Vec<_>>())
        };
        cells.filter_map(of_cell).flatten().collect()
    }

    /// Collects the outputs of those cells of a run notebook that have a display of this media type.
    pub fn with(media_type: &str, notebook: &Value) -> MachineOutputs {
        let has = |cell: &&Value| {
            let outputs = cell["outputs"].as_array();
            let mut data = outputs.into_iter().flatten().map(|output| &output["data"]);
            data.any(|data| data.get(media_type).is_some())
        };
        let cells = notebook["cells"].as_array().into_iter().flatten();
        let cells = cells.filter(has).map(|cell| {
            let outputs = CellOutputs {
                digest: source_digest(&joined(&cell["source"])),
                outputs: cell["outputs"].as_array().cloned().unwrap_or_default(),
            };
            (cell["id"].as_str().unwrap_or_default().to_owned(), outputs)
        });
        MachineOutputs {
            machine: String::new(),
            cells: cells.collect(),
        }
    }

    /// Returns whether no cell has outputs.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Returns the text of the file, with a line for each line of output, which keeps diffs readable.
    pub fn layout(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("JSON values are written to memory");
        text + "\n"
    }

    /// Returns the outputs of a cell, if its source is still the one that ran.
    pub fn outputs(&self, id: &str, source: &str) -> Option<&[Value]> {
        let cell = self.cells.get(id)?;
        (cell.digest == source_digest(source)).then_some(&cell.outputs)
    }
}
