//! Execution of cells.

use super::evaluator::fake;
use super::front_end::{FakeFrontEnd, connect};
use super::limited;
use jupyter_protocol::{
    ExecuteRequest, HistoryEntry, HistoryRequest, InterruptRequest, JupyterMessageContent,
    KernelInfoRequest, ReplyStatus,
};
use serde_json::{Value, json, to_value};
use std::sync::mpsc::channel;

const WHERE: &str = r#"why ["where"]"#;

#[test]
fn events_become_messages_in_order() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let cell = front
            .execute("out a\nout b\nerr c\nshow id\nout d\nupdate id\nclear\nvalue 7")
            .await;
        let expected = [
            "busy",
            "input 1",
            "stdout ab",
            "stderr c",
            r#"display Some("id") {"text/plain":"a"}"#,
            "stdout d",
            r#"update Some("id") {"text/plain":"b"}"#,
            "clear true",
            r#"result 1 {"text/plain":"7"}"#,
            "idle",
        ];
        assert_eq!(front.outputs(&cell).await, expected);
        assert_eq!(front.outcome(&cell).await, (ReplyStatus::Ok, 1));
        front.finish().await;
    });
}

#[test]
fn text_is_shown_while_the_cell_runs() {
    limited(async {
        let (mut front, gate) = connect().await;
        let cell = front.execute("out a\ngate\nout b").await;
        assert_eq!(
            front.wait_for(&cell, 3).await,
            ["busy", "input 1", "stdout a"]
        );
        gate.send(()).unwrap();
        let expected = ["busy", "input 1", "stdout a", "stdout b", "idle"];
        assert_eq!(front.outputs(&cell).await, expected);
        assert_eq!(front.outcome(&cell).await, (ReplyStatus::Ok, 1));
        front.finish().await;
    });
}

#[test]
fn cells_queued_after_a_failed_cell_are_not_run() {
    limited(async {
        let (mut front, gate) = connect().await;
        let failing = front.execute("gate\nfail").await;
        front.wait_for(&failing, 2).await;
        let waiting = front.execute("out never").await;
        // When this request is answered, the earlier ones have been read.
        let barrier = front.send(KernelInfoRequest {}).await;
        front.reply(&barrier).await;
        gate.send(()).unwrap();

        let error = format!("error Failure: {WHERE}");
        assert_eq!(
            front.outputs(&failing).await,
            ["busy", "input 1", &error, "idle"]
        );
        assert_eq!(front.outcome(&failing).await, (ReplyStatus::Error, 1));
        assert_eq!(front.outputs(&waiting).await, ["busy", "idle"]);
        assert_eq!(front.outcome(&waiting).await, (ReplyStatus::Aborted, 0));
        assert_eq!(front.outputs(&barrier).await, ["busy", "idle"]);
        assert_eq!(
            front.without_request(),
            ["busy"],
            "a cell was still running"
        );

        let later = front.execute("out again").await;
        let expected = ["busy", "input 2", "stdout again", "idle"];
        assert_eq!(front.outputs(&later).await, expected);
        assert_eq!(front.outcome(&later).await, (ReplyStatus::Ok, 2));
        front.finish().await;
    });
}

#[test]
fn without_stop_on_error_the_next_cell_runs() {
    limited(async {
        let (mut front, gate) = connect().await;
        let failing = ExecuteRequest {
            stop_on_error: false,
            ..ExecuteRequest::new("gate\nfail".to_owned())
        };
        let failing = front.send(failing).await;
        front.wait_for(&failing, 2).await;
        let next = front.execute("out b").await;
        let barrier = front.send(KernelInfoRequest {}).await;
        front.reply(&barrier).await;
        gate.send(()).unwrap();
        assert_eq!(front.outcome(&failing).await, (ReplyStatus::Error, 1));
        assert_eq!(front.outcome(&next).await, (ReplyStatus::Ok, 2));
        front.outputs(&failing).await;
        front.outputs(&barrier).await;
        assert_eq!(front.without_request(), ["busy"]);
        let expected = ["busy", "input 2", "stdout b", "idle"];
        assert_eq!(front.outputs(&next).await, expected);
        front.finish().await;
    });
}

#[test]
fn silent_and_blank_cells_do_not_count() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let silent = ExecuteRequest {
            silent: true,
            ..ExecuteRequest::new("out a\nfail".to_owned())
        };
        let silent = front.send(silent).await;
        assert_eq!(front.outputs(&silent).await, ["busy", "idle"]);
        assert_eq!(front.outcome(&silent).await, (ReplyStatus::Error, 1));
        let unstored = ExecuteRequest {
            store_history: false,
            ..ExecuteRequest::new("out a".to_owned())
        };
        let unstored = front.send(unstored).await;
        let expected = ["busy", "input 1", "stdout a", "idle"];
        assert_eq!(front.outputs(&unstored).await, expected);
        assert_eq!(front.outcome(&unstored).await, (ReplyStatus::Ok, 1));
        let blank = front.execute(" \n").await;
        assert_eq!(front.outputs(&blank).await, ["busy", "input 1", "idle"]);
        assert_eq!(front.outcome(&blank).await, (ReplyStatus::Ok, 1));

        let counted = front.execute("value 7").await;
        front.outputs(&counted).await;
        assert_eq!(front.outcome(&counted).await, (ReplyStatus::Ok, 1));
        let history = front
            .send(HistoryRequest::Tail {
                n: 9,
                output: true,
                raw: true,
            })
            .await;
        let JupyterMessageContent::HistoryReply(reply) = front.reply(&history).await else {
            panic!("not a history");
        };
        let [HistoryEntry::InputOutput(1, 1, (input, output))] = &reply.history[..] else {
            panic!("not the one cell: {:?}", reply.history);
        };
        assert_eq!((&input[..], &output[..]), ("value 7", "7"));
        assert_eq!(front.outputs(&history).await, ["busy", "idle"]);
        front.finish().await;
    });
}

fn with_expressions(code: &str, expressions: &[(&str, &str)]) -> ExecuteRequest {
    let owned = |(name, code): &(&str, &str)| ((*name).to_owned(), (*code).to_owned());
    ExecuteRequest {
        user_expressions: Some(expressions.iter().map(owned).collect()),
        ..ExecuteRequest::new(code.to_owned())
    }
}

/// Returns the values of expressions in the reply to a cell.
async fn values(front: &mut FakeFrontEnd, cell: &str) -> Value {
    let reply = to_value(front.reply(cell).await).unwrap();
    reply["user_expressions"].clone()
}

#[test]
fn user_expressions_are_evaluated_and_not_published() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let asked = [
            ("good", "out never\nvalue 7"),
            ("bad", "fail"),
            ("broken", "panic oh"),
            ("unit", "show id\nask Name:"),
        ];
        let ok = |data| json!({"status": "ok", "data": data, "metadata": {}});
        let error = |name, value, trace: &str| {
            let traceback = [trace];
            json!({"status": "error", "ename": name, "evalue": value, "traceback": traceback})
        };
        let panicked = "taper itself failed: oh";
        let expected = json!({
            "good": ok(json!({"text/plain": "7"})),
            "bad": error("Failure", "why", "where"),
            "broken": error("InternalError", panicked, panicked),
            "unit": ok(json!({})),
        });
        let cell = front.send(with_expressions("out a", &asked)).await;
        assert_eq!(values(&mut front, &cell).await, expected);
        let published = ["busy", "input 1", "stdout a", "idle"];
        assert_eq!(front.outputs(&cell).await, published);

        // As debuggers and widgets do it: without a cell, and nothing is published.
        let silent = ExecuteRequest {
            silent: true,
            ..with_expressions("", &asked[..1])
        };
        let silent = front.send(silent).await;
        assert_eq!(values(&mut front, &silent).await["good"], expected["good"]);
        assert_eq!(front.outputs(&silent).await, ["busy", "idle"]);
        front.finish().await;
    });
}

#[test]
fn user_expressions_of_a_failed_cell_are_not_evaluated() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let failing = front
            .send(with_expressions("fail", &[("x", "value 7")]))
            .await;
        assert_eq!(values(&mut front, &failing).await, json!({}));
        front.outputs(&failing).await;
        front.finish().await;
    });
}

#[test]
fn exit_commands_end_the_console() {
    limited(async {
        let (mut front, _gate) = connect().await;
        for (code, payload) in [
            ("quit", json!([{"source": "ask_exit", "keepkernel": false}])),
            ("value 7", json!([])),
        ] {
            let cell = front.execute(code).await;
            let reply = to_value(front.reply(&cell).await).unwrap();
            assert_eq!(
                (&reply["status"], &reply["payload"]),
                (&json!("ok"), &payload)
            );
            front.outputs(&cell).await;
        }
        front.finish().await;
    });
}

#[test]
fn an_interrupt_ends_the_running_cell() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let cell = front.execute("out a\nwait").await;
        front.wait_for(&cell, 3).await;
        let interrupt = front.send_control(InterruptRequest {}).await;
        front.control_reply(&interrupt).await;
        let error = format!("error Interrupted: {WHERE}");
        let expected = ["busy", "input 1", "stdout a", &error, "idle"];
        assert_eq!(front.outputs(&cell).await, expected);
        assert_eq!(front.outcome(&cell).await, (ReplyStatus::Error, 1));
        assert_eq!(front.outputs(&interrupt).await, ["busy", "idle"]);
        // The `idle` of the interrupt may come before that of the cell or after it.
        let repeated = front.without_request();
        assert!(repeated.iter().all(|state| state == "busy") && repeated.len() < 2);
        front.finish().await;
    });
}

#[test]
fn a_cell_asks_and_is_answered() {
    limited(async {
        let (mut front, _gate) = connect().await;
        for knows_question in [true, false] {
            let cell = ExecuteRequest {
                allow_stdin: true,
                ..ExecuteRequest::new("out Name\nask Password:".to_owned())
            };
            let cell = front.send(cell).await;
            let question = front.question().await;
            assert_eq!(question.parent_header.as_ref().unwrap().msg_id, cell);
            let JupyterMessageContent::InputRequest(asked) = &question.content else {
                panic!("not a question: {question:?}");
            };
            assert_eq!((&asked.prompt[..], asked.password), ("Password:", true));
            front
                .answer(knows_question.then_some(&question), "mine")
                .await;
            assert_eq!(front.outcome(&cell).await.0, ReplyStatus::Ok);
            let outputs = front.outputs(&cell).await;
            assert_eq!(
                outputs[2..],
                ["stdout name", r#"stdout some("mine")"#, "idle"]
            );
        }
        // What was printed as the prompt is only in the box.
        let cell = ExecuteRequest {
            allow_stdin: true,
            ..ExecuteRequest::new("out Welcome. Password:\nask Password:".to_owned())
        };
        let cell = front.send(cell).await;
        let question = front.question().await;
        front.answer(Some(&question), "mine").await;
        assert_eq!(
            front.outputs(&cell).await[2..],
            ["stdout welcome. ", r#"stdout some("mine")"#, "idle"]
        );
        front.reply(&cell).await;
        let unasked = front.execute("ask Password:").await;
        assert_eq!(front.outputs(&unasked).await[2..], ["stdout none", "idle"]);
        front.reply(&unasked).await;
        front.finish().await;
    });
}

#[test]
fn an_interrupt_ends_a_question() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let cell = ExecuteRequest {
            allow_stdin: true,
            ..ExecuteRequest::new("ask Name:\nwait".to_owned())
        };
        let cell = front.send(cell).await;
        let question = front.question().await;
        let interrupt = front.send_control(InterruptRequest {}).await;
        front.control_reply(&interrupt).await;
        let outputs = front.outputs(&cell).await;
        assert_eq!(outputs[2], "stdout none");
        assert_eq!(front.outcome(&cell).await.0, ReplyStatus::Error);
        front.outputs(&interrupt).await;
        front.without_request();

        // An answer to the old question does not answer the next one.
        let cell = ExecuteRequest {
            allow_stdin: true,
            ..ExecuteRequest::new("ask Name:".to_owned())
        };
        let cell = front.send(cell).await;
        let next = front.question().await;
        front.answer(Some(&question), "late").await;
        front.answer(Some(&next), "right").await;
        assert_eq!(front.outputs(&cell).await[2], r#"stdout some("right")"#);
        front.reply(&cell).await;
        front.finish().await;
    });
}

#[test]
fn a_panic_of_the_evaluator_is_an_error_of_the_cell() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let cell = front.execute("panic oh").await;
        let error = r#"error InternalError: taper itself failed: oh ["taper itself failed: oh"]"#;
        assert_eq!(
            front.outputs(&cell).await,
            ["busy", "input 1", error, "idle"]
        );
        assert_eq!(front.outcome(&cell).await, (ReplyStatus::Error, 1));
        front.finish().await;
    });
}

#[test]
fn cells_wait_for_the_evaluator_and_other_requests_do_not() {
    limited(async {
        let (open, gate) = channel::<()>();
        let mut front = FakeFrontEnd::connect(move || {
            gate.recv()?;
            Ok(fake().0)
        })
        .await;
        let cell = front.execute("out a").await;
        let info = front.send(KernelInfoRequest {}).await;
        front.reply(&info).await;
        assert_eq!(front.outputs(&info).await, ["busy", "idle"]);
        open.send(()).unwrap();
        let expected = ["busy", "input 1", "stdout a", "idle"];
        assert_eq!(front.outputs(&cell).await, expected);
        assert_eq!(front.outcome(&cell).await, (ReplyStatus::Ok, 1));
        front.finish().await;
    });
}

#[test]
fn cells_report_why_the_evaluator_did_not_start() {
    limited(async {
        let mut front =
            FakeFrontEnd::connect(|| anyhow::bail!("no cargo\nrun `taper setup`")).await;
        for number in 1..=2 {
            let cell = front.execute("out a").await;
            let input = format!("input {number}");
            let error = concat!(
                "error StartError: no cargo\nrun `taper setup` ",
                r#"["no cargo", "run `taper setup`"]"#
            );
            assert_eq!(front.outputs(&cell).await, ["busy", &input, error, "idle"]);
            assert_eq!(front.outcome(&cell).await, (ReplyStatus::Error, number));
        }
        front.finish().await;
    });
}
