//! Front ends that show which cells are stale.

use super::front_end::{FakeFrontEnd, connect};
use super::limited;
use jupyter_protocol::{
    CommClose, CommId, CommInfoRequest, CommMsg, CommOpen, ExecuteRequest, JupyterMessage,
};
use serde_json::{Map, Value, json, to_value};

fn id() -> CommId {
    CommId("marks".to_owned())
}

fn data(data: Value) -> Map<String, Value> {
    Map::from_iter(data.as_object().unwrap().clone())
}

async fn run(front: &mut FakeFrontEnd, cell: Value) -> Vec<String> {
    let mut request = JupyterMessage::from(ExecuteRequest::new("out a".to_owned()));
    request.metadata = cell;
    let request = front.send(request).await;
    front.outcome(&request).await;
    front.outputs(&request).await
}

#[test]
fn a_front_end_receives_the_stale_cells_after_each_cell_until_it_closes_the_comm() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let cells = run(&mut front, json!({"cellId": "a"})).await;
        assert_eq!(cells, ["busy", "input 1", "stdout a", "idle"]);

        let open = CommOpen {
            comm_id: id(),
            target_name: "taper.stale".to_owned(),
            data: data(json!({"cells": ["a", "b"]})),
            target_module: None,
        };
        let open = front.send(open).await;
        let state = r#""a" [1] ["a","b"]"#;
        assert_eq!(front.outputs(&open).await, ["busy", state, "idle"]);
        let cells = run(&mut front, json!({"cellId": "b"})).await;
        let state = r#""b" [2] ["a","b"]"#;
        let [compiling, running] = [r#"{"compiling":"b"}"#, r#"{"running":"b"}"#];
        let expected = [
            "busy", "input 2", compiling, running, "stdout a", state, "idle",
        ];
        assert_eq!(cells, expected);

        let question = CommMsg {
            comm_id: id(),
            data: data(json!({"needed": "b", "sources": [["a", "out a"], ["b", ""]]})),
        };
        let question = front.send(question).await;
        let answer = r#"{"needed":["a: out a","b"]}"#;
        assert_eq!(front.outputs(&question).await, ["busy", answer, "idle"]);

        let info = CommInfoRequest { target_name: None };
        let info = front.send(info).await;
        let reply = to_value(front.reply(&info).await).unwrap();
        let expected = json!({"marks": {"target_name": "taper.stale"}});
        assert_eq!(reply["comms"], expected);
        front.outputs(&info).await;

        let order = CommMsg {
            comm_id: id(),
            data: data(json!({"cells": ["b"]})),
        };
        let order = front.send(order).await;
        let state = r#""b" [2] ["b"]"#;
        assert_eq!(front.outputs(&order).await, ["busy", state, "idle"]);
        let close = CommClose {
            comm_id: id(),
            ..Default::default()
        };
        let close = front.send(close).await;
        front.outputs(&close).await;
        let cells = run(&mut front, json!({})).await;
        assert_eq!(cells, ["busy", "input 3", "stdout a", "idle"]);
        front.without_request();
        front.finish().await;
    });
}
