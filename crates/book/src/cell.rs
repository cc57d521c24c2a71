//! A cell of a notebook: its source, its outputs and its tags.

use crate::tags::{Tags, Visibility};
use crate::{highlight, outline};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use taper_evaluator::joined;
use taper_notebook::MachineOutputs;

/// The prefix of a figure's caption, in the first line of a code cell.
const CAPTION: &str = "// Figure: ";

/// A cell of a notebook.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    /// The source without the caption.
    pub(crate) source: String,
    pub(crate) tags: Tags,
    /// The anchors of its headings, in order.
    pub(crate) headings: Vec<String>,
    /// The numbers of its figures, in order; the chapter sets them.
    pub(crate) figures: Vec<String>,
}

/// The kind of a cell.
#[derive(Debug)]
pub(crate) enum Kind {
    Markdown {
        /// Images that were dropped onto the cell, by name.
        attachments: Map<String, Value>,
    },
    Code {
        outputs: Vec<Value>,
        /// The outputs of a machine with a GPU, if they differ.
        other: Option<OtherOutputs>,
        caption: Option<String>,
    },
    /// A raw cell: it is for other tools and not in the book.
    Raw,
}

/// The outputs of a cell on another machine.
#[derive(Debug)]
pub(crate) struct OtherOutputs {
    pub(crate) machine: String,
    pub(crate) outputs: Vec<Value>,
}

impl Cell {
    /// Reads a cell of a valid notebook, and its outputs on another machine.
    pub(crate) fn read(cell: &Value, other: Option<&MachineOutputs>) -> Cell {
        let mut source = joined(&cell["source"]);
        let id = cell["id"].as_str().unwrap_or_default().to_owned();
        let kind = match cell["cell_type"].as_str() {
            Some("markdown") => Kind::Markdown {
                attachments: cell["attachments"].as_object().cloned().unwrap_or_default(),
            },
            Some("code") => {
                let outputs = cell["outputs"].as_array().cloned().unwrap_or_default();
                Kind::Code {
                    other: other.and_then(|run| other_outputs(run, &id, &source, &outputs)),
                    outputs,
                    caption: take_caption(&mut source),
                }
            }
            _ => Kind::Raw,
        };
        let headings = match kind {
            Kind::Markdown { .. } => outline::headings(&source),
            _ => Vec::new(),
        };
        Cell {
            id,
            tags: Tags::read(&cell["metadata"]),
            kind,
            source,
            headings,
            figures: Vec::new(),
        }
    }

    /// Returns whether any part of the cell is in the book.
    pub(crate) fn is_shown(&self) -> bool {
        self.tags.cell != Visibility::Removed && !matches!(self.kind, Kind::Raw)
    }

    /// Returns the cell's anchor, the same as in JupyterLab.
    pub(crate) fn anchor(&self) -> String {
        format!("cell-id={}", self.id)
    }

    /// Counts the cell's figures, which are images or outputs with a caption.
    pub(crate) fn count_figures(&self) -> usize {
        match &self.kind {
            _ if !self.is_shown() => 0,
            Kind::Markdown { .. } => outline::count_figures(&self.source),
            Kind::Code { caption, .. } => usize::from(caption.is_some() && self.tags.has_output()),
            Kind::Raw => 0,
        }
    }

    /// Returns the names that the cell's code defines: they do not refer to the crate `taper`.
    pub(crate) fn definitions(&self) -> BTreeSet<String> {
        match self.kind {
            Kind::Code { .. } => highlight::definitions(&self.source),
            _ => BTreeSet::new(),
        }
    }
}

/// Returns the outputs of another machine, if they differ from the notebook's own.
fn other_outputs(
    run: &MachineOutputs,
    id: &str,
    source: &str,
    own: &[Value],
) -> Option<OtherOutputs> {
    let other = run.outputs(id, source)?;
    (comparable(other) != comparable(own)).then(|| OtherOutputs {
        machine: run.machine.clone(),
        outputs: other.to_vec(),
    })
}

/// Returns outputs in a form that can be compared: without execution counts, and with the lines of texts joined.
fn comparable(outputs: &[Value]) -> Vec<Value> {
    let mut outputs = outputs.to_vec();
    for output in &mut outputs {
        if let Some(output) = output.as_object_mut() {
            output.remove("execution_count");
        }
        if let Some(written) = output.get_mut("text") {
            *written = joined(written).into();
        }
        for data in output
            .get_mut("data")
            .and_then(Value::as_object_mut)
            .into_iter()
            .flat_map(Map::values_mut)
        {
            if data.is_array() {
                *data = joined(data).into();
            }
        }
    }
    outputs
}

fn take_caption(source: &mut String) -> Option<String> {
    let rest = source.strip_prefix(CAPTION)?;
    let (caption, code) = rest.split_once('\n').unwrap_or((rest, ""));
    let caption = caption.trim().to_owned();
    *source = code.to_owned();
    Some(caption)
}
