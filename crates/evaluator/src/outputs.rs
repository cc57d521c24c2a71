//! The outputs of a cell, as Jupyter keeps them. The runner of files and the served book apply the events of a cell; the
//! kernel, for pages that are opened again, what it has published.

use crate::event::Event;
use serde_json::{Map, Value, json};

/// The outputs of one cell: streams are joined, displays updated, cleared outputs removed.
///
/// ```
/// use taper_evaluator::{CellOutputs, Event, Stream};
///
/// let mut outputs = CellOutputs::default();
/// for text in ["one, ", "two"] {
///     outputs.event(Event::Text { stream: Stream::Stdout, text: text.into() }, 1);
/// }
/// let shown: Vec<_> = outputs.shown().collect();
/// assert_eq!(shown[0].content["text"], "one, two");
/// ```
#[derive(Debug, Default)]
pub struct CellOutputs {
    shown: Vec<Output>,
    /// Whether a clear waits for the next output, so that a figure is replaced without flicker.
    clear_waits: bool,
    bytes: usize,
}

/// An output of a cell.
#[derive(Debug)]
pub struct Output {
    /// The output in the format of notebook files, with each text as one string.
    pub content: Value,
    /// The name with which later events update the output.
    pub display_id: Option<String>,
}

impl CellOutputs {
    /// Applies an event of the cell, which has this execution count.
    pub fn event(&mut self, event: Event, execution_count: usize) {
        let (content, id) = match event {
            Event::Text { stream, text } => (
                json!({ "output_type": "stream", "name": stream.name(), "text": text }),
                None,
            ),
            Event::Display {
                data,
                metadata,
                display_id,
            } => (
                json!({ "output_type": "display_data", "data": data, "metadata": metadata }),
                display_id,
            ),
            Event::Result { data, metadata } => (
                json!({
                    "output_type": "execute_result", "execution_count": execution_count, "data": data, "metadata": metadata,
                }),
                None,
            ),
            Event::Error(error) => (
                json!({
                    "output_type": "error", "ename": error.name, "evalue": error.message, "traceback": error.traceback,
                }),
                None,
            ),
            Event::Clear { wait } => return self.clear(wait),
            Event::UpdateDisplay {
                data,
                metadata,
                display_id,
            } => return self.update(&display_id, &data, &metadata),
            // A run does not change the source of cells, and controls in a file do not work.
            Event::NextInput { .. } | Event::Widget { .. } => return,
        };
        self.show(content, id);
    }

    /// Adds an output; text continues the last output if that is of the same stream.
    pub fn show(&mut self, content: Value, display_id: Option<String>) {
        if self.clear_waits {
            self.clear(false);
        }
        self.bytes += size(&content);
        if let (Some(last), Some(more)) = (self.shown.last_mut(), content["text"].as_str())
            && last.content["name"] == content["name"]
            && let Some(Value::String(text)) = last.content.get_mut("text")
        {
            text.push_str(more);
            return;
        }
        self.shown.push(Output {
            content,
            display_id,
        });
    }

    /// Removes the outputs: now, or when the next one comes.
    pub fn clear(&mut self, wait: bool) {
        self.clear_waits = wait;
        if !wait {
            self.shown.clear();
            self.bytes = 0;
        }
    }

    /// Replaces the content of all outputs with a display id.
    pub fn update(
        &mut self,
        display_id: &str,
        data: &Map<String, Value>,
        metadata: &Map<String, Value>,
    ) {
        let has_id = |output: &&mut Output| output.display_id.as_deref() == Some(display_id);
        for output in self.shown.iter_mut().filter(has_id) {
            output.content["data"] = json!(data);
            output.content["metadata"] = json!(metadata);
        }
    }

    /// Returns the outputs.
    pub fn shown(&self) -> impl Iterator<Item = &Output> {
        self.shown.iter()
    }

    /// Returns about how many bytes of text and data were added since the last clear.
    pub fn bytes(&self) -> usize {
        match self.clear_waits {
            true => 0,
            false => self.bytes,
        }
    }
}

/// Returns a text of a notebook, which may be stored as a list of lines; an empty text if it is none.
pub fn joined(text: &Value) -> String {
    match text {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        text => text.as_str().unwrap_or_default().to_owned(),
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 8,
    }
}
