//! One of Jupyter's widgets, as the kernel and the page receive it.

use crate::notebook::bundle::MimeBundle;
use crate::notebook::display;
use crate::notebook::live::new_id;
use crate::notebook::record::send_record;
use serde_json::{Value, json};

/// The MIME type of the view of a widget.
pub(super) const VIEW: &str = "application/vnd.jupyter.widget-view+json";

/// Creates a control, one of Jupyter's widgets, and returns its id. `state` returns what its state has beside the state of
/// all controls.
pub(crate) fn new_control(kind: &str, state: impl FnOnce(&str) -> Value) -> String {
    let id = new_id();
    let mut all = json!({
        "_dom_classes": [],
        "_model_module": "@jupyter-widgets/controls",
        "_model_module_version": "2.0.0",
        "_model_name": format!("{kind}Model"),
        "_view_count": null,
        "_view_module": "@jupyter-widgets/controls",
        "_view_module_version": "2.0.0",
        "_view_name": format!("{kind}View"),
        "disabled": false,
        "layout": null,
        "style": null,
    });
    if let (Value::Object(all), Value::Object(own)) = (&mut all, state(&id)) {
        all.extend(own);
    }
    send_record(&json!({ "event": "widget", "id": id, "state": all }));
    id
}

/// Shows a control; where a page cannot, `instead`.
pub(crate) fn show_control(id: &str, instead: MimeBundle) {
    let view = json!({ "model_id": id, "version_major": 2, "version_minor": 0 });
    let mut data = instead.data().clone();
    data.insert(VIEW.to_owned(), view);
    display(&MimeBundle::from(data));
}
