//! The outputs of cells that no page has seen to their end: they are shown again when a page is loaded again, or opened
//! while its cell runs.
//!
//! A page with the extension confirms that it has shown all outputs of a cell, with `{"received": "id"}` over the comm of
//! `stale.rs`; then they are dropped. When it opens the comm, it receives what is left, if there is any:
//!
//! ```json
//! {"outputs": [{
//!     "id": "8f2c…", "number": 5, "request": "msg_id", "running": true,
//!     "outputs": [{"output_type": "stream", "name": "stdout", "text": "…"}], "display_ids": [null]
//! }]}
//! ```
//!
//! `outputs` have the format of notebook files. While the cell is `running`, the page receives further outputs as all
//! front ends do, as answers to the request.

use jupyter_protocol::{
    ClearOutput, CommId, CommMsg, ExecutionState, JupyterMessage, JupyterMessageContent as Content,
};
use serde_json::{Map, Value, json};
use taper_evaluator::CellOutputs;

/// How many cells are kept, and how much text and data for each, in bytes.
const MOST: usize = 16;
const LIMIT: usize = 4 << 20;

/// The kept cells, the oldest first.
#[derive(Default)]
pub(super) struct Kept(Vec<Cell>);

struct Cell {
    id: String,
    number: usize,
    /// The id of the message that runs the cell.
    request: String,
    is_running: bool,
    outputs: CellOutputs,
}

impl Kept {
    /// Keeps the outputs of a cell from now on.
    pub(super) fn begin(&mut self, id: String, number: usize, request: String) {
        self.received(&id);
        let too_many = (self.0.len() + 1).saturating_sub(MOST);
        self.0.drain(..too_many);
        self.0.push(Cell {
            id,
            number,
            request,
            is_running: true,
            outputs: CellOutputs::default(),
        });
    }

    /// Drops the outputs of a cell, which a page has shown.
    pub(super) fn received(&mut self, id: &str) {
        self.0.retain(|cell| cell.id != id);
    }

    /// Keeps a published message, if it is an output.
    pub(super) fn note(&mut self, message: &JupyterMessage) {
        if let Content::UpdateDisplayData(update) = &message.content {
            let data = json!(update.data);
            if let (Some(id), Some(data)) = (&update.transient.display_id, data.as_object()) {
                let outputs = self.0.iter_mut().map(|cell| &mut cell.outputs);
                outputs.for_each(|outputs| outputs.update(id, data, &update.metadata));
            }
            return;
        }
        let parent = message.parent_header.as_ref().map(|it| it.msg_id.as_str());
        let cell = self.0.iter_mut().find(|cell| parent == Some(&cell.request));
        if let Some(cell) = cell {
            cell.note(message);
        }
    }

    /// Returns the message for a page that has opened a comm, unless nothing is kept.
    pub(super) fn message(&self, comm_id: CommId) -> Option<CommMsg> {
        let cells: Vec<Value> = self.0.iter().map(Cell::described).collect();
        let data = Map::from_iter([("outputs".to_owned(), Value::from(cells))]);
        (!self.0.is_empty()).then_some(CommMsg { comm_id, data })
    }
}

impl Cell {
    fn note(&mut self, message: &JupyterMessage) {
        match &message.content {
            Content::Status(status) => {
                self.is_running &= status.execution_state != ExecutionState::Idle;
            }
            Content::ClearOutput(ClearOutput { wait }) => self.outputs.clear(*wait),
            Content::StreamContent(_)
            | Content::DisplayData(_)
            | Content::ExecuteResult(_)
            | Content::ErrorOutput(_) => self.add(message),
            _ => {}
        }
    }

    /// Adds an output: the content of its message, with the message's type. After the first one above the limit comes a
    /// note, and further ones are dropped.
    fn add(&mut self, message: &JupyterMessage) {
        if self.outputs.bytes() >= LIMIT {
            return;
        }
        let mut content = json!(message.content);
        content["output_type"] = json!(message.header.msg_type);
        let fields = content.as_object_mut();
        let transient = fields.and_then(|fields| fields.remove("transient"));
        let display_id = transient.and_then(|it| it["display_id"].as_str().map(str::to_owned));
        self.outputs.show(content, display_id);
        if self.outputs.bytes() >= LIMIT {
            let text = "Further outputs were not kept for a page that is opened again.\n";
            let note = json!({ "output_type": "stream", "name": "stderr", "text": text });
            self.outputs.show(note, None);
        }
    }

    fn described(&self) -> Value {
        let (outputs, display_ids): (Vec<_>, Vec<_>) = { self.outputs.shown() }
            .map(|output| (&output.content, &output.display_id))
            .unzip();
        json!({
            "id": self.id, "number": self.number, "request": self.request, "running": self.is_running,
            "outputs": outputs, "display_ids": display_ids,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jupyter_protocol::{ExecuteRequest, StreamContent};

    fn kept() -> (Kept, JupyterMessage) {
        let mut kept = Kept::default();
        let request = JupyterMessage::from(ExecuteRequest::new(String::new()));
        kept.begin("a".to_owned(), 1, request.header.msg_id.clone());
        (kept, request)
    }

    fn print(kept: &mut Kept, request: &JupyterMessage, text: &str) {
        kept.note(&StreamContent::stdout(text).as_child_of(request));
    }

    fn outputs(kept: &Kept) -> Value {
        kept.message(CommId("c".to_owned())).expect("a cell").data["outputs"][0]["outputs"].clone()
    }

    #[test]
    fn text_is_joined_and_bounded() {
        let (mut kept, request) = kept();
        print(&mut kept, &request, "a");
        print(&mut kept, &request, "b");
        assert_eq!(outputs(&kept)[0]["text"], "ab");
        print(&mut kept, &request, &"x".repeat(LIMIT));
        print(&mut kept, &request, "last");
        let text = outputs(&kept)[0]["text"].to_string();
        assert!(text.len() < LIMIT + 10 && !text.contains("last"));
    }

    #[test]
    fn a_display_that_waits_to_clear_stays_until_the_next_output() {
        let (mut kept, request) = kept();
        print(&mut kept, &request, "a");
        kept.note(&ClearOutput { wait: true }.as_child_of(&request));
        assert_eq!(outputs(&kept)[0]["text"], "a");
        print(&mut kept, &request, "b");
        assert_eq!(outputs(&kept)[0]["text"], "b");
        kept.note(&ClearOutput { wait: false }.as_child_of(&request));
        assert_eq!(outputs(&kept), json!([]));
    }

    #[test]
    fn only_the_newest_cells_are_kept() {
        let (mut kept, _) = kept();
        for number in 0..2 * MOST {
            kept.begin(number.to_string(), number, "request".to_owned());
        }
        assert_eq!(kept.0.len(), MOST);
        assert_eq!(kept.0[0].id, MOST.to_string());
        kept.received(&MOST.to_string());
        assert_eq!(kept.0.len(), MOST - 1);
    }
}
