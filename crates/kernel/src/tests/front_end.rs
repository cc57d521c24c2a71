//! A fake front end. It fails a test that leaves a message unread or the kernel running.

use super::evaluator::{fake, is_complete};
use crate::connection_file;
use crate::serve::run;
use crate::shared::Shared;
use crate::sockets::Sockets;
use crate::stop::Stop;
use jupyter_protocol::{
    ConnectionInfo, ExecuteRequest, InputReply, JupyterMessage, JupyterMessageContent, ReplyStatus,
    ShutdownRequest, Status, Transport,
};
use jupyter_zmq_client::{
    ClientControlConnection, ClientIoPubConnection, ClientShellConnection, ClientStdinConnection,
    create_client_control_connection, create_client_iopub_connection,
    create_client_shell_connection_with_identity, create_client_stdin_connection_with_identity,
    peek_ports_with_listeners, peer_identity_for_session,
};
use serde_json::to_string;
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use taper_evaluator::Evaluator;
use tokio::sync::oneshot;

pub(super) struct FakeFrontEnd {
    pub(super) info: ConnectionInfo,
    shell: ClientShellConnection,
    control: ClientControlConnection,
    stdin: ClientStdinConnection,
    iopub: ClientIoPubConnection,
    /// Descriptions of published messages that no test has read yet, by the id of their request.
    published: HashMap<String, Vec<String>>,
    replies: HashMap<String, Vec<JupyterMessage>>,
    ended: Option<oneshot::Receiver<()>>,
}

/// Starts a kernel with the fake evaluator; the sender opens its gates.
pub(super) async fn connect() -> (FakeFrontEnd, Sender<()>) {
    let (evaluator, gate) = fake();
    (FakeFrontEnd::connect(move || Ok(evaluator)).await, gate)
}

impl FakeFrontEnd {
    /// Starts a kernel and waits until this front end receives what it publishes.
    pub(super) async fn connect(
        start: impl FnOnce() -> anyhow::Result<Box<dyn Evaluator>> + Send + 'static,
    ) -> Self {
        Self::connect_over(free_ports().await, start).await
    }

    /// Does the same as [`Self::connect`], over the connection `info`.
    pub(super) async fn connect_over(
        info: ConnectionInfo,
        start: impl FnOnce() -> anyhow::Result<Box<dyn Evaluator>> + Send + 'static,
    ) -> Self {
        let ended = spawn_kernel(info.clone(), start).await;
        let session = "front";
        let identity = peer_identity_for_session(session).unwrap();
        let mut front = Self {
            shell: create_client_shell_connection_with_identity(&info, session, identity.clone())
                .await
                .unwrap(),
            stdin: create_client_stdin_connection_with_identity(&info, session, identity)
                .await
                .unwrap(),
            control: create_client_control_connection(&info, session)
                .await
                .unwrap(),
            iopub: create_client_iopub_connection(&info, "", session)
                .await
                .unwrap(),
            info,
            published: HashMap::new(),
            replies: HashMap::new(),
            ended: Some(ended),
        };
        front.publication().await;
        front.publication().await;
        assert_eq!(front.without_request(), ["iopub_welcome", "starting"]);
        front
    }

    /// Sends a request on the shell channel and returns its id.
    pub(super) async fn send(&mut self, request: impl Into<JupyterMessage>) -> String {
        let message = request.into();
        let id = message.header.msg_id.clone();
        self.shell.send(message).await.unwrap();
        id
    }

    pub(super) async fn send_control(&mut self, request: impl Into<JupyterMessage>) -> String {
        let message = request.into();
        let id = message.header.msg_id.clone();
        self.control.send(message).await.unwrap();
        id
    }

    pub(super) async fn execute(&mut self, code: &str) -> String {
        self.send(ExecuteRequest::new(code.to_owned())).await
    }

    /// Returns the reply to a request on the shell channel.
    pub(super) async fn reply(&mut self, id: &str) -> JupyterMessageContent {
        while !self.replies.contains_key(id) {
            let message = self.shell.read().await.unwrap();
            self.keep(message);
        }
        self.take_reply(id)
    }

    pub(super) async fn control_reply(&mut self, id: &str) -> JupyterMessageContent {
        while !self.replies.contains_key(id) {
            let message = self.control.read().await.unwrap();
            self.keep(message);
        }
        self.take_reply(id)
    }

    /// Returns the status and the execution count in the reply to an execute request.
    pub(super) async fn outcome(&mut self, id: &str) -> (ReplyStatus, usize) {
        match self.reply(id).await {
            JupyterMessageContent::ExecuteReply(reply) => {
                (reply.status, reply.execution_count.value())
            }
            other => panic!("not a reply to a cell: {other:?}"),
        }
    }

    fn keep(&mut self, message: JupyterMessage) {
        self.replies
            .entry(cause(&message))
            .or_default()
            .push(message);
    }

    fn take_reply(&mut self, id: &str) -> JupyterMessageContent {
        let mut replies = self.replies.remove(id).unwrap();
        let reply = replies.remove(0);
        assert!(replies.is_empty(), "a second reply: {replies:?}");
        reply.content
    }

    /// Returns all that a request published, from `busy` to `idle`.
    pub(super) async fn outputs(&mut self, id: &str) -> Vec<String> {
        while self.published.get(id).and_then(|all| all.last()) != Some(&"idle".to_owned()) {
            self.publication().await;
        }
        self.published.remove(id).unwrap()
    }

    /// Waits until the request has published `count` messages, which [`Self::outputs`] returns again.
    pub(super) async fn wait_for(&mut self, id: &str, count: usize) -> &[String] {
        while self.published.get(id).is_none_or(|all| all.len() < count) {
            self.publication().await;
        }
        &self.published[id]
    }

    /// Returns what was published so far because of a request.
    pub(super) fn take_published(&mut self, id: &str) -> Vec<String> {
        self.published.remove(id).unwrap_or_default()
    }

    /// Returns what was published so far without a request.
    pub(super) fn without_request(&mut self) -> Vec<String> {
        self.take_published("")
    }

    async fn publication(&mut self) {
        let message = self.iopub.read().await.unwrap();
        let line = describe(&message.content);
        self.published
            .entry(cause(&message))
            .or_default()
            .push(line);
    }

    /// Waits for a question.
    pub(super) async fn question(&mut self) -> JupyterMessage {
        self.stdin.read().await.unwrap()
    }

    /// Sends an answer: with a question as its parent, as JupyterLab does, or without one, as jupyter_client does.
    pub(super) async fn answer(&mut self, question: Option<&JupyterMessage>, value: &str) {
        let mut reply = JupyterMessage::from(InputReply {
            value: value.to_owned(),
            ..Default::default()
        });
        reply.parent_header = question.map(|question| question.header.clone());
        self.stdin.send(reply).await.unwrap();
    }

    /// Drops the outputs of a request that does not end.
    pub(super) fn forget(&mut self, id: &str) {
        self.published.remove(id);
    }

    /// Waits until the kernel has ended.
    pub(super) async fn ended(&mut self) {
        self.ended.take().unwrap().await.unwrap();
    }

    /// Ends the kernel. Nothing may be left unread.
    pub(super) async fn finish(mut self) {
        if self.ended.is_some() {
            let id = self.send_control(ShutdownRequest { restart: false }).await;
            self.control_reply(&id).await;
            assert_eq!(self.outputs(&id).await, ["busy", "idle"]);
            self.ended().await;
        }
        assert_eq!(self.published, HashMap::new(), "unread outputs");
        assert!(self.replies.is_empty(), "unread: {:?}", self.replies);
    }
}

impl Drop for FakeFrontEnd {
    fn drop(&mut self) {
        let forgotten = self.ended.is_some() && !std::thread::panicking();
        assert!(!forgotten, "the test did not call `finish`");
    }
}

async fn free_ports() -> ConnectionInfo {
    let ip = Ipv4Addr::LOCALHOST;
    let (ports, _taken) = peek_ports_with_listeners(ip.into(), 5).await.unwrap();
    ConnectionInfo {
        shell_port: ports[0],
        iopub_port: ports[1],
        stdin_port: ports[2],
        control_port: ports[3],
        hb_port: ports[4],
        ..connection_file::tests::info()
    }
}

/// Returns a connection over sockets in a folder.
pub(super) fn in_folder(folder: &Path) -> ConnectionInfo {
    ConnectionInfo {
        ip: folder.join("kernel-ipc").to_string_lossy().into_owned(),
        transport: Transport::IPC,
        ..connection_file::tests::info()
    }
}

/// Runs a kernel on a thread of its own; returns when it listens.
async fn spawn_kernel(
    info: ConnectionInfo,
    start: impl FnOnce() -> anyhow::Result<Box<dyn Evaluator>> + Send + 'static,
) -> oneshot::Receiver<()> {
    let (bound, listens) = oneshot::channel();
    let (ended, end) = oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let sockets = Sockets::bind(&info).await.unwrap();
            bound.send(()).unwrap();
            let stop = Stop::default();
            let shared = Arc::new(Shared::new(stop.clone()));
            run(sockets, stop, shared, is_complete, start).await;
        });
        runtime.shutdown_background();
        ended.send(()).unwrap();
    });
    listens.await.unwrap();
    end
}

fn cause(message: &JupyterMessage) -> String {
    let parent = message.parent_header.as_ref();
    parent.map_or(String::new(), |parent| parent.msg_id.clone())
}

/// Describes a message in one line.
fn describe(content: &JupyterMessageContent) -> String {
    use JupyterMessageContent as Content;
    let json = |data| to_string(data).unwrap();
    match content {
        Content::Status(Status { execution_state }) => execution_state.as_str().to_owned(),
        Content::ExecuteInput(input) => format!("input {}", input.execution_count),
        Content::StreamContent(stream) => {
            format!("{:?} {}", stream.name, stream.text).to_lowercase()
        }
        Content::DisplayData(shown) => {
            let id = shown.transient.clone().and_then(|it| it.display_id);
            format!("display {id:?} {}", json(&shown.data))
        }
        Content::UpdateDisplayData(shown) => {
            format!(
                "update {:?} {}",
                shown.transient.display_id,
                json(&shown.data)
            )
        }
        Content::ClearOutput(clear) => format!("clear {}", clear.wait),
        Content::ExecuteResult(result) => {
            format!("result {} {}", result.execution_count, json(&result.data))
        }
        Content::ErrorOutput(error) => {
            format!(
                "error {}: {} {:?}",
                error.ename, error.evalue, error.traceback
            )
        }
        Content::CommMsg(message) if message.data.contains_key("stale") => {
            let cell = &message.data["stale"][0];
            format!("{} [{}] {}", cell["id"], cell["number"], cell["reasons"])
        }
        Content::CommMsg(message) if !message.data.contains_key("method") => {
            to_string(&message.data).unwrap()
        }
        other => other.message_type().to_owned(),
    }
}
