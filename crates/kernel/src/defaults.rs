//! Defaults of fields that front ends may omit, although the protocol's library requires them.

use jupyter_protocol::Header;
use serde_json::{Value, json};

/// Reads the header of a request. Only the id and the type are required.
pub(super) fn header(json: &[u8]) -> serde_json::Result<Header> {
    let mut header = serde_json::from_slice(json)?;
    set_missing(
        &mut header,
        json!({ "username": "", "session": "", "version": "5.3" }),
    );
    serde_json::from_value(header)
}

/// Sets the fields of a request of type `kind` that are missing or null to their defaults.
pub(super) fn fill_in(kind: &str, content: &mut Value) {
    set_missing(content, defaults(kind));
}

fn set_missing(object: &mut Value, defaults: Value) {
    let (Some(content), Value::Object(defaults)) = (object.as_object_mut(), defaults) else {
        return;
    };
    for (name, value) in defaults {
        let field = content.entry(name).or_insert(Value::Null);
        if field.is_null() {
            *field = value;
        }
    }
}

fn defaults(kind: &str) -> Value {
    match kind {
        "execute_request" => json!({ "silent": false, "store_history": true }),
        // The cursor is at the end.
        "complete_request" | "inspect_request" => json!({ "cursor_pos": usize::MAX }),
        "history_request" => json!({
            "output": false, "raw": true, "unique": false,
            "session": 0, "start": 0, "stop": i32::MAX, "n": i32::MAX,
        }),
        "shutdown_request" => json!({ "restart": false }),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jupyter_protocol::JupyterMessageContent;

    #[test]
    fn the_shortest_requests_can_be_read() {
        for (kind, content) in [
            ("execute_request", json!({"code": "1"})),
            ("complete_request", json!({"code": "1"})),
            ("inspect_request", json!({"code": "1"})),
            ("is_complete_request", json!({"code": "1"})),
            ("history_request", json!({"hist_access_type": "tail"})),
            ("history_request", json!({"hist_access_type": "range"})),
            (
                "history_request",
                json!({"hist_access_type": "search", "pattern": "*", "n": null}),
            ),
            ("comm_info_request", json!({})),
            ("kernel_info_request", json!({})),
            ("interrupt_request", json!({})),
            ("shutdown_request", json!({})),
        ] {
            let mut filled = content.clone();
            fill_in(kind, &mut filled);
            let read = JupyterMessageContent::from_type_and_content(kind, filled);
            assert!(read.is_ok(), "{kind} {content}: {read:?}");
        }
    }

    #[test]
    fn a_header_needs_an_id_and_a_type() {
        let header = header(br#"{"msg_id": "1", "msg_type": "kernel_info_request"}"#).unwrap();
        assert_eq!((&*header.msg_id, &*header.username), ("1", ""));
        assert!(super::header(br#"{"msg_id": "1"}"#).is_err());
    }

    #[test]
    fn fields_that_are_set_stay() {
        let mut content = json!({"code": "1", "silent": true});
        fill_in("execute_request", &mut content);
        let expected = json!({"code": "1", "silent": true, "store_history": true});
        assert_eq!(content, expected);
        let mut content = Value::Null;
        fill_in("execute_request", &mut content);
        assert_eq!(content, Value::Null);
    }
}
