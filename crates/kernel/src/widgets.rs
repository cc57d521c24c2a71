//! The controls (Jupyter's widgets) that cells have made: their states, and the changes that wait for the evaluator.
//!
//! A front end reports each move of a slider. Moves that arrive while the evaluator is busy are not queued: the
//! last one of each control replaces those before it.

use jupyter_protocol::{CommId, CommInfo, CommInfoReply, CommMsg, CommOpen};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use taper_host::mutex::lock;

/// The target name of comms that belong to widgets.
const TARGET: &str = "jupyter.widget";
/// The version of the widget messaging protocol.
const VERSION: &str = "2.1.0";

/// All controls by id.
#[derive(Default)]
pub(super) struct Widgets(Mutex<BTreeMap<String, Widget>>);

struct Widget {
    state: Map<String, Value>,
    is_changed: bool,
}

impl Widgets {
    /// Adds a control, and returns the message for the front ends, with its metadata.
    pub(super) fn open(&self, id: String, state: Map<String, Value>) -> (CommOpen, Value) {
        let open = CommOpen {
            comm_id: CommId(id.clone()),
            target_name: TARGET.to_owned(),
            data: as_data(&state),
            target_module: None,
        };
        let is_changed = false;
        lock(&self.0).insert(id, Widget { state, is_changed });
        (open, json!({ "version": VERSION }))
    }

    /// Removes a control, which a front end has closed.
    pub(super) fn close(&self, id: &CommId) {
        lock(&self.0).remove(&id.0);
    }

    /// Lists the controls, for a front end that has just connected.
    pub(super) fn info(&self) -> CommInfoReply {
        let info = |id: &String| {
            let target_name = TARGET.to_owned();
            (CommId(id.clone()), CommInfo { target_name })
        };
        CommInfoReply {
            comms: lock(&self.0).keys().map(info).collect(),
            ..Default::default()
        }
    }

    /// Changes the state of a control. Returns whether its value has changed, so that its callback must run.
    pub(super) fn update(&self, message: &CommMsg) -> bool {
        let Some(Value::Object(change)) = message.data.get("state") else {
            return false;
        };
        let mut widgets = lock(&self.0);
        let Some(widget) = widgets.get_mut(&message.comm_id.0) else {
            return false;
        };
        let before = widget.state.get("value").cloned();
        widget.state.extend(change.clone());
        let is_changed = widget.state.get("value") != before.as_ref();
        widget.is_changed |= is_changed;
        is_changed
    }

    /// Returns the reply to a front end that requests the state of a control; `None` for other messages.
    pub(super) fn requested_state(&self, message: &CommMsg) -> Option<CommMsg> {
        if message.data.get("method")? != "request_state" {
            return None;
        }
        let widgets = lock(&self.0);
        let mut data = as_data(&widgets.get(&message.comm_id.0)?.state);
        data.insert("method".to_owned(), "update".into());
        let comm_id = message.comm_id.clone();
        Some(CommMsg { comm_id, data })
    }

    /// Returns the values that have changed since the last call, as texts.
    pub(super) fn take_changed(&self) -> Vec<(String, String)> {
        let mut widgets = lock(&self.0);
        let changed = widgets.iter_mut().filter_map(|(id, widget)| {
            let is_changed = std::mem::take(&mut widget.is_changed);
            let value = match widget.state.get("value")? {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => return None,
            };
            is_changed.then(|| (id.clone(), value))
        });
        changed.collect()
    }
}

fn as_data(state: &Map<String, Value>) -> Map<String, Value> {
    Map::from_iter([
        ("state".to_owned(), Value::Object(state.clone())),
        ("buffer_paths".to_owned(), json!([])),
    ])
}
