//! Front ends that show which cells are stale.

use super::front_end::{FakeFrontEnd, connect};
use super::limited;
use jupyter_protocol::{
    CommClose, CommId, CommInfoRequest, CommMsg, CommOpen, ExecuteRequest, JupyterMessage,
};
use serde_json::{Map, Value, json, to_string, to_value};

fn id() -> CommId {
    CommId("marks".to_owned())
}

fn data(data: Value) -> Map<String, Value> {
    Map::from_iter(data.as_object().unwrap().clone())
}

fn open(id: CommId) -> CommOpen {
    CommOpen {
        comm_id: id,
        target_name: "taper.stale".to_owned(),
        data: data(json!({"cells": ["a", "b"]})),
        target_module: None,
    }
}

async fn send(front: &mut FakeFrontEnd, code: &str, cell: Value) -> String {
    let mut request = JupyterMessage::from(ExecuteRequest::new(code.to_owned()));
    request.metadata = cell;
    front.send(request).await
}

async fn run(front: &mut FakeFrontEnd, cell: Value) -> Vec<String> {
    let request = send(front, "out a", cell).await;
    front.outcome(&request).await;
    front.outputs(&request).await
}

#[test]
fn a_front_end_receives_the_stale_cells_after_each_cell_until_it_closes_the_comm() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let cells = run(&mut front, json!({"cellId": "a"})).await;
        assert_eq!(cells, ["busy", "input 1", "stdout a", "idle"]);

        let open = front.send(open(id())).await;
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

#[test]
fn a_page_that_opens_while_a_cell_runs_receives_its_outputs() {
    limited(async {
        let (mut front, gate) = connect().await;
        let first = front.send(open(id())).await;
        front.outputs(&first).await;
        let code = "out a\nshow d\nupdate d\ngate\nout c";
        let cell = send(&mut front, code, json!({"cellId": "a"})).await;
        // busy, input, compiling, running, text, display
        front.wait_for(&cell, 6).await;

        let restored = |running: bool, outputs: Value| {
            let ids: Vec<Value> = [json!(null), json!("d")]
                .into_iter()
                .chain(vec![json!(null); outputs.as_array().unwrap().len() - 2])
                .collect();
            to_string(&json!({"outputs": [{
                "id": "a", "number": 1, "request": cell, "running": running, "outputs": outputs, "display_ids": ids,
            }]}))
            .unwrap()
        };
        let text = |text: &str| json!({"output_type": "stream", "name": "stdout", "text": text});
        let shown =
            json!({"output_type": "display_data", "data": {"text/plain": "b"}, "metadata": {}});
        // At once: the evaluator is busy.
        let second = front.send(open(CommId("second".to_owned()))).await;
        front.wait_for(&second, 1).await;
        gate.send(()).unwrap();
        front.outcome(&cell).await;
        front.outputs(&cell).await;
        let received = front.outputs(&second).await;
        assert_eq!(received[0], restored(true, json!([text("a"), shown])));

        let third = front.send(open(CommId("third".to_owned()))).await;
        let received = front.outputs(&third).await;
        let all = json!([text("a"), shown, text("c")]);
        assert_eq!(received[0], restored(false, all));

        let confirm = CommMsg {
            comm_id: id(),
            data: data(json!({"received": "a"})),
        };
        let confirm = front.send(confirm).await;
        assert_eq!(front.outputs(&confirm).await, ["busy", "idle"]);
        let fourth = front.send(open(CommId("fourth".to_owned()))).await;
        assert_eq!(front.outputs(&fourth).await.len(), 3);
        front.without_request();
        front.finish().await;
    });
}
