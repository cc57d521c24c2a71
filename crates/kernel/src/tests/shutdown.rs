//! The start and the end of the kernel.

use super::evaluator::{fake, is_complete};
use super::front_end::{FakeFrontEnd, connect, in_folder};
use super::limited;
use crate::serve;
use jupyter_protocol::{
    ExecuteRequest, JupyterMessageContent, KernelInfoRequest, ReplyStatus, ShutdownRequest,
};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn a_kernel_without_a_connection_file_names_it() {
    let start = || unreachable!("nothing to start");
    let error = serve("/nowhere/kernel.json".as_ref(), is_complete, start).unwrap_err();
    assert!(error.to_string().contains("/nowhere/kernel.json"));
}

#[test]
fn sockets_in_a_folder_are_for_this_user_only_and_replace_those_of_a_killed_kernel() {
    limited(async {
        let folder = tempfile::tempdir().expect("a folder");
        let info = in_folder(folder.path());
        let sockets = [1, 2, 3, 4, 5].map(|port| format!("{}-{port}", info.ip));
        for socket in &sockets {
            // Closed, but not removed.
            drop(UnixListener::bind(socket).expect("a socket"));
        }
        let (evaluator, _gate) = fake();
        let mut front = FakeFrontEnd::connect_over(info, move || Ok(evaluator)).await;
        // The sockets protect themselves where others can enter the folder.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("a folder");
        for socket in &sockets {
            let metadata = fs::metadata(socket).expect("it is bound");
            assert_eq!(metadata.permissions().mode() & 0o077, 0, "{socket}");
            assert!(!stranger_connects(socket).unwrap_or(false), "{socket}");
        }
        let cell = front.execute("out text").await;
        assert_eq!(front.outputs(&cell).await[2..], ["stdout text", "idle"]);
        assert_eq!(front.outcome(&cell).await, (ReplyStatus::Ok, 1));
        front.finish().await;
    });
}

/// Returns whether another user of this machine can connect to a socket; `None` if this process cannot act as
/// another user.
fn stranger_connects(socket: &str) -> Option<bool> {
    const NOBODY: u32 = 65_534;
    let python = Path::new("/usr/bin/python3");
    if !rustix::process::geteuid().is_root() || !python.exists() {
        println!("skipped: only root can act as another user");
        return None;
    }
    let connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
    let mut command = Command::new(python);
    command.args(["-c", connect, socket]).current_dir("/");
    let tried = command.uid(NOBODY).gid(NOBODY).output().ok()?;
    let said = String::from_utf8_lossy(&tried.stderr);
    let refused = said.contains("PermissionError");
    assert!(tried.status.success() || refused, "{said}");
    Some(!refused)
}

#[test]
fn a_stranger_connects_to_an_open_socket() {
    let folder = tempfile::tempdir().expect("a folder");
    let everyone = Permissions::from_mode(0o777);
    fs::set_permissions(folder.path(), everyone.clone()).expect("a folder");
    let socket = folder.path().join("open").to_string_lossy().into_owned();
    let _listener = UnixListener::bind(&socket).expect("a socket");
    fs::set_permissions(&socket, everyone).expect("a socket");
    assert!(stranger_connects(&socket).unwrap_or(true));
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
            assert!(asked.elapsed() < Duration::from_secs(10));
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
