//! Controls that the user moves, and the panel of variables.

use super::front_end::connect;
use super::limited;
use jupyter_protocol::{
    CommClose, CommId, CommInfoRequest, CommMsg, DebugRequest, KernelInfoRequest, ReplyStatus,
};
use serde_json::{Map, Value, json, to_value};

fn comm(id: &str, data: Value) -> CommMsg {
    CommMsg {
        comm_id: CommId(id.to_owned()),
        data: Map::from_iter(data.as_object().unwrap().clone()),
    }
}

fn moved(id: &str, value: f64) -> CommMsg {
    comm(
        id,
        json!({"method": "update", "state": {"value": value}, "buffer_paths": []}),
    )
}

#[test]
fn a_drag_of_a_hundred_events_ends_at_the_last_value() {
    limited(async {
        let (mut front, gate) = connect().await;
        let cell = front.execute("slider lr\ngate").await;
        let opened = front.wait_for(&cell, 3).await;
        assert_eq!(opened, ["busy", "input 1", "comm_open"]);
        let mut drag = Vec::new();
        for event in 1..=100 {
            drag.push(front.send(moved("lr", f64::from(event))).await);
        }
        // The kernel has received all of them.
        let info = front.send(KernelInfoRequest {}).await;
        front.reply(&info).await;
        front.outputs(&info).await;
        gate.send(()).unwrap();
        front.outputs(&cell).await;
        assert_eq!(front.outcome(&cell).await, (ReplyStatus::Ok, 1));
        assert_eq!(
            front.outputs(&drag[0]).await,
            ["busy", "stdout lr is 100.0", "idle"]
        );
        for event in &drag[1..] {
            assert_eq!(front.outputs(event).await, ["busy", "idle"]);
        }
        // After replies in between, `busy` is published again.
        front.without_request();
        let same = front.send(moved("lr", 100.0)).await;
        assert_eq!(front.outputs(&same).await, ["busy", "idle"]);
        front.finish().await;
    });
}

#[test]
fn a_control_that_was_moved_while_a_cell_failed_runs_its_callback_with_the_next_one() {
    limited(async {
        let (mut front, gate) = connect().await;
        let cell = front.execute("slider lr\nslider steps\ngate\nfail").await;
        front.wait_for(&cell, 4).await;
        let during = front.send(moved("lr", 3.0)).await;
        // The kernel has received the move.
        let info = front.send(KernelInfoRequest {}).await;
        front.reply(&info).await;
        front.outputs(&info).await;
        gate.send(()).unwrap();
        front.outputs(&cell).await;
        assert_eq!(front.outcome(&cell).await, (ReplyStatus::Error, 1));
        assert_eq!(front.outputs(&during).await, ["busy", "idle"]);
        let next = front.send(moved("steps", 7.0)).await;
        assert_eq!(
            front.outputs(&next).await,
            ["busy", "stdout lr is 3.0steps is 7.0", "idle"]
        );
        // After replies in between, `busy` is published again.
        front.without_request();
        front.finish().await;
    });
}

#[test]
fn a_front_end_that_connects_later_finds_the_controls() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let cell = front.execute("slider lr").await;
        front.outputs(&cell).await;
        front.outcome(&cell).await;
        let ask = || CommInfoRequest {
            target_name: Some("jupyter.widget".to_owned()),
        };
        let info = front.send(ask()).await;
        let reply = to_value(front.reply(&info).await).unwrap();
        assert_eq!(
            reply["comms"],
            json!({"lr": {"target_name": "jupyter.widget"}})
        );
        front.outputs(&info).await;

        let state = front
            .send(comm("lr", json!({"method": "request_state"})))
            .await;
        assert_eq!(front.outputs(&state).await, ["busy", "comm_msg", "idle"]);

        let comm_id = CommId("lr".to_owned());
        let close = front
            .send(CommClose {
                comm_id,
                ..Default::default()
            })
            .await;
        front.outputs(&close).await;
        let late = front.send(moved("lr", 1.0)).await;
        assert_eq!(front.outputs(&late).await, ["busy", "idle"]);
        let info = front.send(ask()).await;
        assert_eq!(
            to_value(front.reply(&info).await).unwrap()["comms"],
            json!({})
        );
        front.outputs(&info).await;
        front.finish().await;
    });
}

#[test]
fn a_front_end_shows_the_variables() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let mut debug = async |command: &str, arguments: Value| {
            let cell = front.execute("out a").await;
            front.outputs(&cell).await;
            front.outcome(&cell).await;
            let content =
                json!({"type": "request", "seq": 3, "command": command, "arguments": arguments});
            let id = front.send_control(DebugRequest { content }).await;
            let reply = to_value(front.control_reply(&id).await).unwrap();
            assert_eq!(reply["request_seq"], 3);
            assert_eq!(front.outputs(&id).await, ["busy", "idle"]);
            reply
        };
        assert_eq!(debug("initialize", json!({})).await["success"], true);
        assert_eq!(debug("stepIn", json!({})).await["success"], false);
        let reply = debug("inspectVariables", json!({})).await;
        let [variable] = &reply["body"]["variables"].as_array().unwrap()[..] else {
            panic!("{reply}");
        };
        assert_eq!(
            (&variable["name"], &variable["value"]),
            (&json!("x"), &json!("i32 7"))
        );

        // The parts of the variable, then the parts of its part.
        let mut reference = variable["variablesReference"].clone();
        for expected in [&[("at", "[7, 8]")][..], &[("0", "7"), ("1", "8")]] {
            assert_ne!(reference, 0);
            let reply = debug("variables", json!({"variablesReference": reference})).await;
            let parts = reply["body"]["variables"].as_array().unwrap();
            let shown = |part: &Value| (part["name"].clone(), part["value"].clone());
            let found: Vec<(Value, Value)> = parts.iter().map(shown).collect();
            let expected = expected
                .iter()
                .map(|(name, value)| (json!(name), json!(value)));
            assert_eq!(found, expected.collect::<Vec<_>>());
            reference = parts[0]["variablesReference"].clone();
        }
        assert_eq!(reference, 0, "an integer has no parts");
        let gone = debug("variables", json!({"variablesReference": 1})).await;
        assert_eq!(gone["success"], false);

        let none = debug("setBreakpoints", json!({"breakpoints": []})).await;
        assert_eq!(none["success"], true);
        let one = debug("setBreakpoints", json!({"breakpoints": [{"line": 1}]})).await;
        assert_eq!(
            (
                &one["success"],
                &one["message"],
                &one["body"]["breakpoints"]
            ),
            (
                &json!(false),
                &json!("Taper shows variables, but has no breakpoints"),
                &json!([])
            )
        );
        front.finish().await;
    });
}
