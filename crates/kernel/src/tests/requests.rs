//! Requests other than cells, and malformed messages.

use super::evaluator::fake;
use super::front_end::{FakeFrontEnd, connect};
use super::limited;
use jupyter_protocol::{
    CommId, CommInfoRequest, CommMsg, CommOpen, CompleteRequest, ConnectionInfo, ExecuteRequest,
    InspectRequest, IsCompleteReplyStatus, IsCompleteRequest, JupyterMessage,
    JupyterMessageContent, KernelInfoRequest, ReplyStatus, UnknownMessage,
};
use jupyter_zmq_client::{
    Connection, create_client_heartbeat_connection, create_client_shell_connection_with_identity,
    peer_identity_for_session,
};
use serde_json::{Value, json, to_value};
use std::sync::mpsc::channel;
use taper_host::toolchain::release;
use zeromq::{DealerSocket, Socket, SocketSend, ZmqMessage};

fn unknown(msg_type: &str, content: Value) -> UnknownMessage {
    let msg_type = msg_type.to_owned();
    UnknownMessage { msg_type, content }
}

/// Each request gets one reply, an error, and one pair of `busy` and `idle`.
#[test]
fn malformed_and_unknown_requests_are_answered() {
    limited(async {
        let (mut front, _gate) = connect().await;
        for request in [
            unknown("execute_request", json!({"code": 7})),
            unknown("complete_request", Value::Null),
            unknown("create_subshell_request", json!({})),
            unknown("debug_request", json!({"type": "request"})),
        ] {
            let reply_type = request.msg_type.replace("request", "reply");
            let on_shell = front.send(request.clone()).await;
            let on_control = front.send_control(request).await;
            let replies = [
                front.reply(&on_shell).await,
                front.control_reply(&on_control).await,
            ];
            for reply in replies {
                assert_eq!(reply.message_type(), reply_type);
                let content = to_value(&reply).unwrap();
                assert_eq!(content["status"], "error", "{content}");
            }
            assert_eq!(front.outputs(&on_shell).await, ["busy", "idle"]);
            assert_eq!(front.outputs(&on_control).await, ["busy", "idle"]);
        }
        front.finish().await;
    });
}

#[cfg(target_os = "linux")]
#[test]
fn the_use_of_memory_is_told_while_a_cell_runs() {
    limited(async {
        let (mut front, gate) = connect().await;
        let running = front.execute("gate").await;
        front.wait_for(&running, 2).await;
        let request = front
            .send_control(unknown("usage_request", json!({})))
            .await;
        let reply = to_value(front.control_reply(&request).await).unwrap();
        assert_eq!(reply["pid"], std::process::id());
        assert!(
            reply["kernel_memory"]
                .as_u64()
                .is_some_and(|bytes| bytes > 1 << 20),
            "{reply}"
        );
        assert_eq!(front.outputs(&request).await, ["busy", "idle"]);
        gate.send(()).unwrap();
        front.outputs(&running).await;
        front.reply(&running).await;
        assert_eq!(front.without_request(), ["busy"]);
        front.finish().await;
    });
}

#[test]
fn comms_are_closed() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let comm_id = CommId("1".to_owned());
        let open = CommOpen {
            comm_id: comm_id.clone(),
            target_name: "jupyter.widget".to_owned(),
            ..Default::default()
        };
        let open = front.send(open).await;
        assert_eq!(front.outputs(&open).await, ["busy", "comm_close", "idle"]);
        let data = Default::default();
        let message = front.send(CommMsg { comm_id, data }).await;
        assert_eq!(front.outputs(&message).await, ["busy", "idle"]);
        let info = front.send(CommInfoRequest::default()).await;
        let reply = front.reply(&info).await;
        assert_eq!(
            to_value(&reply).unwrap(),
            json!({"status": "ok", "comms": {}})
        );
        assert_eq!(front.outputs(&info).await, ["busy", "idle"]);
        front.finish().await;
    });
}

#[test]
fn kernel_info_is_answered_on_both_channels() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let shell = front.send(KernelInfoRequest {}).await;
        let control = front.send_control(KernelInfoRequest {}).await;
        let reply = to_value(front.reply(&shell).await).unwrap();
        assert_eq!(reply["implementation"], "taper");
        assert_eq!(reply["protocol_version"], "5.3");
        assert_eq!(reply["language_info"]["name"], "rust");
        assert_eq!(reply["language_info"]["version"], "2024");
        assert!(reply["banner"].to_string().contains(release().unwrap()));
        assert_eq!(reply["language_info"]["file_extension"], ".rs");
        assert_eq!(
            to_value(front.control_reply(&control).await).unwrap(),
            reply
        );
        assert_eq!(front.outputs(&shell).await, ["busy", "idle"]);
        assert_eq!(front.outputs(&control).await, ["busy", "idle"]);
        front.finish().await;
    });
}

#[test]
fn positions_are_counted_in_characters() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let (code, cursor_pos) = ("🕯é ze x".to_owned(), 5);
        let complete = front.send(CompleteRequest { code, cursor_pos }).await;
        let typed = json!([{
            "text": "zeros(shape)", "type": "function", "signature": "zeros(shape)",
            "documentation": "Returns zeros.", "start": 3, "end": 5,
        }]);
        let expected = json!({
            "status": "ok", "matches": ["zeros(shape)"], "cursor_start": 3, "cursor_end": 5,
            "metadata": {"_jupyter_types_experimental": typed},
        });
        assert_eq!(to_value(front.reply(&complete).await).unwrap(), expected);
        front.outputs(&complete).await;

        for (code, data) in [("🕯+x", json!({"text/plain": "+x"})), ("", json!({}))] {
            let inspect = InspectRequest {
                code: code.to_owned(),
                cursor_pos: 1,
                detail_level: None,
            };
            let inspect = front.send(inspect).await;
            let found = !code.is_empty();
            let expected = json!({"status": "ok", "found": found, "data": data, "metadata": {}});
            assert_eq!(to_value(front.reply(&inspect).await).unwrap(), expected);
            front.outputs(&inspect).await;
        }
        front.finish().await;
    });
}

#[test]
fn the_documentation_of_a_variable_begins_with_its_value() {
    limited(async {
        let (mut front, _gate) = connect().await;
        for _ in 0..2 {
            // A cell may change the value, which is read again.
            let cell = front.execute("out a").await;
            front.outputs(&cell).await;
            front.outcome(&cell).await;
            for (code, expected) in [
                ("x", "x: i32 7"),
                ("-x", "x: i32 7"),
                ("a.x", ""),
                ("y", ""),
            ] {
                let inspect = InspectRequest {
                    code: code.to_owned(),
                    cursor_pos: code.len(),
                    detail_level: None,
                };
                let inspect = front.send(inspect).await;
                let reply = to_value(front.reply(&inspect).await).unwrap();
                assert_eq!(reply["data"]["text/plain"], expected, "{code}");
                front.outputs(&inspect).await;
            }
        }
        front.finish().await;
    });
}

#[test]
fn code_is_completed_and_documented_while_a_cell_runs() {
    limited(async {
        let (mut front, gate) = connect().await;
        let running = front.execute("gate").await;
        front.wait_for(&running, 2).await;
        let (code, cursor_pos) = ("ze".to_owned(), 2);
        let complete = front.send(CompleteRequest { code, cursor_pos }).await;
        let reply = to_value(front.reply(&complete).await).unwrap();
        assert_eq!(reply["matches"], json!(["zeros(shape)"]));
        assert_eq!(front.outputs(&complete).await, ["busy", "idle"]);
        let inspect = InspectRequest {
            code: "+x".to_owned(),
            cursor_pos: 1,
            detail_level: None,
        };
        let inspect = front.send(inspect).await;
        let reply = to_value(front.reply(&inspect).await).unwrap();
        assert_eq!(reply["found"], true);
        front.outputs(&inspect).await;
        gate.send(()).unwrap();
        front.outputs(&running).await;
        front.reply(&running).await;
        // After each `idle`, the cell still runs.
        assert_eq!(front.without_request(), ["busy"; 2]);
        front.finish().await;
    });
}

#[test]
fn completeness_is_answered_before_the_evaluator_starts_and_while_a_cell_runs() {
    limited(async {
        let (go_on, wait) = channel();
        let (evaluator, gate) = fake();
        let start = move || {
            let _ = wait.recv();
            Ok(evaluator)
        };
        let mut front = FakeFrontEnd::connect(start).await;
        assert_completeness(&mut front).await;
        go_on.send(()).unwrap();
        let running = front.execute("gate").await;
        front.wait_for(&running, 2).await;
        assert_completeness(&mut front).await;
        gate.send(()).unwrap();
        front.outputs(&running).await;
        front.reply(&running).await;
        // After each `idle`, the cell still runs.
        assert_eq!(front.without_request(), ["busy"; 3]);
        front.finish().await;
    });
}

async fn assert_completeness(front: &mut FakeFrontEnd) {
    for (code, expected) in [
        ("{", IsCompleteReplyStatus::Incomplete),
        ("}", IsCompleteReplyStatus::Complete),
        ("]", IsCompleteReplyStatus::Invalid),
    ] {
        let code = code.to_owned();
        let asked = front.send(IsCompleteRequest { code }).await;
        let JupyterMessageContent::IsCompleteReply(reply) = front.reply(&asked).await else {
            panic!("not a reply");
        };
        assert_eq!(reply.status, expected);
        assert_eq!(front.outputs(&asked).await, ["busy", "idle"]);
    }
}

/// The messages are not run, and the kernel continues.
#[test]
fn unsigned_and_malformed_messages_are_dropped() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let wrong = ConnectionInfo {
            key: "another key".to_owned(),
            ..front.info.clone()
        };
        let identity = peer_identity_for_session("stranger").unwrap();
        let mut stranger =
            create_client_shell_connection_with_identity(&wrong, "stranger", identity)
                .await
                .unwrap();
        let cell = JupyterMessage::from(ExecuteRequest::new("out stolen".to_owned()));
        stranger.send(cell).await.unwrap();
        let malformed: [&[&str]; 4] = [
            &["rubbish"],
            &["<IDS|MSG>"],
            &["<IDS|MSG>", "xyz", "{}", "{}", "{}", "{}"],
            &["<IDS|MSG>", "", "{", "{", "{"],
        ];
        for frames in malformed {
            let mut message = ZmqMessage::from(frames[0]);
            for frame in &frames[1..] {
                message.push_back(frame.to_string().into());
            }
            stranger.socket.send(message).await.unwrap();
        }
        // The kernel reads in order: when the last message, signed with the right key, is answered,
        // all earlier messages have been read.
        let right = Connection::new(DealerSocket::new(), &front.info.key, "stranger");
        stranger.mac = right.mac;
        let last = JupyterMessage::from(KernelInfoRequest {});
        let id = last.header.msg_id.clone();
        stranger.send(last).await.unwrap();
        let reply = stranger.read().await.unwrap();
        assert_eq!(reply.parent_header.unwrap().msg_id, id);
        assert_eq!(front.outputs(&id).await, ["busy", "idle"]);

        let cell = front.execute("out mine").await;
        let expected = ["busy", "input 1", "stdout mine", "idle"];
        assert_eq!(front.outputs(&cell).await, expected);
        assert_eq!(front.outcome(&cell).await, (ReplyStatus::Ok, 1));
        front.finish().await;
    });
}

/// A process that records the traffic has messages without having the key.
#[test]
fn a_replayed_message_is_dropped() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let cell = JupyterMessage::from(ExecuteRequest::new("out once".to_owned()));
        let first = front.send(cell.clone()).await;
        front.send(cell.clone()).await;
        front.send_control(cell).await;
        let last = front.execute("out last").await;
        let control = front.send_control(KernelInfoRequest {}).await;
        front.control_reply(&control).await;
        front.outputs(&control).await;
        let expected = ["busy", "input 1", "stdout once", "idle"];
        assert_eq!(front.outputs(&first).await, expected);
        assert_eq!(front.outcome(&first).await, (ReplyStatus::Ok, 1));
        let expected = ["busy", "input 2", "stdout last", "idle"];
        assert_eq!(front.outputs(&last).await, expected);
        assert_eq!(front.outcome(&last).await, (ReplyStatus::Ok, 2));
        front.without_request();
        front.finish().await;
    });
}

#[test]
fn heartbeats_are_answered() {
    limited(async {
        let (front, _gate) = connect().await;
        let mut heart = create_client_heartbeat_connection(&front.info)
            .await
            .unwrap();
        for _ in 0..3 {
            heart.single_heartbeat().await.unwrap();
        }
        front.finish().await;
    });
}

#[test]
fn a_cell_that_is_too_long_is_refused_and_not_kept() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let cell = front.execute(&"out x\n".repeat(2 << 20)).await;
        let message = "a cell can have at most 8388608 bytes, this one has 12582912: read large data from a file";
        let error = format!("error CellError: {message} [{message:?}]");
        assert_eq!(front.outputs(&cell).await, ["busy", &error, "idle"]);
        assert_eq!(front.outcome(&cell).await, (ReplyStatus::Error, 1));
        let next = front.execute("out a").await;
        front.outputs(&next).await;
        assert_eq!(front.outcome(&next).await, (ReplyStatus::Ok, 1));
        front.finish().await;
    });
}
