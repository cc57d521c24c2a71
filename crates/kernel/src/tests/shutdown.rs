//! The start and the end of the kernel.

use super::front_end::connect;
use super::limited;
use crate::serve;
use jupyter_protocol::{
    ExecuteRequest, JupyterMessageContent, KernelInfoRequest, ReplyStatus, ShutdownRequest,
};
use std::time::{Duration, Instant};

#[test]
fn a_kernel_without_a_connection_file_names_it() {
    let start = || unreachable!("nothing to start");
    let error = serve("/nowhere/kernel.json".as_ref(), start).unwrap_err();
    assert!(error.to_string().contains("/nowhere/kernel.json"));
}

/// A second interrupt ends the process of a cell that ignores the first one (`deaf`).
#[test]
fn a_running_cell_does_not_delay_the_end() {
    for (code, outcome) in [
        ("wait", Some("Interrupted")),
        ("deaf", Some("Killed")),
        ("stuck", None),
    ] {
        limited(async {
            let (mut front, _gate) = connect().await;
            let running = front.execute(code).await;
            front.wait_for(&running, 2).await;
            let waiting = front.execute("out never").await;
            let barrier = front.send(KernelInfoRequest {}).await;
            front.reply(&barrier).await;
            front.outputs(&barrier).await;

            let asked = Instant::now();
            let shutdown = front.send_control(ShutdownRequest { restart: true }).await;
            let reply = front.control_reply(&shutdown).await;
            let JupyterMessageContent::ShutdownReply(reply) = reply else {
                panic!("not the reply");
            };
            assert!(reply.restart && reply.status == ReplyStatus::Ok);
            assert_eq!(front.outputs(&shutdown).await, ["busy", "idle"]);
            if let Some(name) = outcome {
                let outputs = front.outputs(&running).await;
                assert!(outputs[2].starts_with(&format!("error {name}")));
                assert_eq!(front.outcome(&running).await, (ReplyStatus::Error, 1));
                assert_eq!(front.outputs(&waiting).await, ["busy", "idle"]);
                assert_eq!(front.outcome(&waiting).await.0, ReplyStatus::Aborted);
            }
            front.ended().await;
            assert!(asked.elapsed() < Duration::from_secs(2));
            front.without_request();
            if outcome.is_none() {
                assert_eq!(front.wait_for(&running, 2).await, ["busy", "input 1"]);
                front.forget(&running);
            }
            front.finish().await;
        });
    }
}

#[test]
fn shutdown_on_the_shell_channel_ends_a_question() {
    limited(async {
        let (mut front, _gate) = connect().await;
        let cell = ExecuteRequest {
            allow_stdin: true,
            ..ExecuteRequest::new("ask Name:".to_owned())
        };
        let cell = front.send(cell).await;
        front.question().await;
        let shutdown = front.send(ShutdownRequest { restart: false }).await;
        front.reply(&shutdown).await;
        assert_eq!(front.outputs(&shutdown).await, ["busy", "idle"]);
        assert_eq!(front.outputs(&cell).await[2..], ["stdout none", "idle"]);
        assert_eq!(front.outcome(&cell).await, (ReplyStatus::Ok, 1));
        front.ended().await;
        front.without_request();
        front.finish().await;
    });
}
