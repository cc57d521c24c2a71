//! How the kernel begins and ends.

use super::super::sockets::check;
use super::front_end::connect;
use super::limited;
use crate::serve;
use jupyter_protocol::{
    ConnectionInfo, ExecuteRequest, JupyterMessageContent, KernelInfoRequest, ReplyStatus,
    ShutdownRequest, Transport,
};
use std::time::{Duration, Instant};

fn info() -> ConnectionInfo {
    ConnectionInfo {
        ip: "127.0.0.1".to_owned(),
        transport: Transport::TCP,
        shell_port: 1,
        iopub_port: 2,
        stdin_port: 3,
        control_port: 4,
        hb_port: 5,
        key: "a key".to_owned(),
        signature_scheme: "hmac-sha256".to_owned(),
        kernel_name: None,
    }
}

#[test]
fn only_signed_messages_from_this_machine() {
    for ip in ["127.0.0.1", "127.1.2.3", "::1", "localhost"] {
        let ip = ip.to_owned();
        check(&ConnectionInfo { ip, ..info() }).unwrap();
    }
    let refused = [
        ("0.0.0.0", "hmac-sha256", "a key", Transport::TCP),
        ("*", "hmac-sha256", "a key", Transport::TCP),
        ("192.168.0.7", "hmac-sha256", "a key", Transport::TCP),
        ("127.0.0.1", "hmac-md5", "a key", Transport::TCP),
        ("127.0.0.1", "hmac-sha256", "", Transport::TCP),
        ("/tmp/socket", "hmac-sha256", "a key", Transport::IPC),
    ];
    for (ip, scheme, key, transport) in refused {
        let asked = ConnectionInfo {
            ip: ip.to_owned(),
            signature_scheme: scheme.to_owned(),
            key: key.to_owned(),
            transport,
            ..info()
        };
        let error = check(&asked).unwrap_err().to_string();
        assert!(error.contains("Start Jupyter") || error.contains("start Jupyter"));
    }
}

#[test]
fn a_kernel_without_a_connection_file_names_it() {
    let start = || unreachable!("nothing to start");
    let error = serve("/nowhere/kernel.json".as_ref(), None, start).unwrap_err();
    assert!(error.to_string().contains("/nowhere/kernel.json"));
}

/// From the request until the kernel has ended; `deaf` cells are not asked politely again.
#[test]
fn a_running_cell_does_not_keep_the_kernel() {
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
            front.without_cause();
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
        front.without_cause();
        front.finish().await;
    });
}
