//! A cell as the book sees it.

use super::look::{Look, Shown};
use super::{highlight, markdown};
use serde_json::{Map, Value};
use taper_notebook::MachineOutputs;

/// Begins the comment that is a figure's caption, on the first line of a code cell.
const CAPTION: &str = "// Figure: ";

#[derive(Debug)]
pub struct Cell {
    pub id: String,
    pub kind: Kind,
    /// Of a code cell, without its caption.
    pub source: String,
    pub look: Look,
    /// The anchors of its headings, in order.
    pub headings: Vec<String>,
    /// The numbers of its figures, in order; [`super::shelf`] gives them.
    pub figures: Vec<String>,
}

#[derive(Debug)]
pub enum Kind {
    Markdown {
        /// Pictures that were dropped onto the cell, by name.
        attachments: Map<String, Value>,
    },
    Code {
        outputs: Vec<Value>,
        /// Those of a GPU, if there are any and they are others.
        elsewhere: Option<Outputs>,
        caption: Option<String>,
    },
    /// For other tools; not in the book.
    Raw,
}

/// What a cell showed on a machine.
#[derive(Debug)]
pub struct Outputs {
    pub machine: String,
    pub outputs: Vec<Value>,
}

impl Cell {
    /// From the document, which was checked to be a notebook, and from what lies beside it.
    pub fn read(cell: &Value, elsewhere: Option<&MachineOutputs>) -> Cell {
        let mut source = text(&cell["source"]);
        let id = cell["id"].as_str().unwrap_or_default().to_owned();
        let kind = match cell["cell_type"].as_str() {
            Some("markdown") => Kind::Markdown {
                attachments: cell["attachments"].as_object().cloned().unwrap_or_default(),
            },
            Some("code") => {
                let outputs = cell["outputs"].as_array().cloned().unwrap_or_default();
                Kind::Code {
                    elsewhere: elsewhere.and_then(|run| others(run, &id, &source, &outputs)),
                    outputs,
                    caption: take_caption(&mut source),
                }
            }
            _ => Kind::Raw,
        };
        let headings = match kind {
            Kind::Markdown { .. } => markdown::headings(&source),
            _ => Vec::new(),
        };
        Cell {
            id,
            look: Look::read(&cell["metadata"]),
            kind,
            source,
            headings,
            figures: Vec::new(),
        }
    }

    /// Whether anything of it is in the book.
    pub fn is_shown(&self) -> bool {
        self.look.cell != Shown::Removed && !matches!(self.kind, Kind::Raw)
    }

    /// As JupyterLab calls it in addresses.
    pub fn anchor(&self) -> String {
        format!("cell-id={}", self.id)
    }

    /// How many numbered figures it has.
    pub fn count_figures(&self) -> usize {
        match &self.kind {
            _ if !self.is_shown() => 0,
            Kind::Markdown { .. } => markdown::count_figures(&self.source),
            Kind::Code { caption, .. } => usize::from(caption.is_some() && self.look.has_output()),
            Kind::Raw => 0,
        }
    }

    /// The names that its code defines: they are not those of the crate.
    pub fn definitions(&self) -> Vec<String> {
        match self.kind {
            Kind::Code { .. } => highlight::definitions(&self.source),
            _ => Vec::new(),
        }
    }
}

/// What the cell showed elsewhere, if that is not what it shows here.
fn others(run: &MachineOutputs, id: &str, source: &str, here: &[Value]) -> Option<Outputs> {
    let there = run.outputs(id, source)?;
    (uncounted(there) != uncounted(here)).then(|| Outputs {
        machine: run.machine.clone(),
        outputs: there.to_vec(),
    })
}

/// Without the numbers of the cells, and with texts in one piece.
fn uncounted(outputs: &[Value]) -> Vec<Value> {
    let mut outputs = outputs.to_vec();
    for output in &mut outputs {
        if let Some(output) = output.as_object_mut() {
            output.remove("execution_count");
        }
        if let Some(written) = output.get_mut("text") {
            *written = text(written).into();
        }
        for data in output
            .get_mut("data")
            .and_then(Value::as_object_mut)
            .into_iter()
            .flat_map(Map::values_mut)
        {
            if data.is_array() {
                *data = text(data).into();
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

/// A text of a notebook, which may be a list of its lines.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}
