//! The one task that sends: outputs, replies to shell requests, questions on stdin.

use super::shared::Shared;
use super::throttle::Updates;
use jupyter_protocol::{
    ExecutionState, IoPubWelcome, JupyterMessage, JupyterMessageContent, Status, Stdio,
    StreamContent,
};
use jupyter_zmq_client::{
    Connection, KernelIoPubXPubConnection, Result, RouterSendConnection, SubscriptionEvent,
};
use std::sync::Arc;
use std::time::Duration;
use taper_evaluator::event::Stream;
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;
use zeromq::SocketSend;

/// So many things of a cell may wait to be sent; then the cell waits.
pub(super) const CELL_LANE: usize = 256;

/// Text waits so long for more of its kind before it is sent.
const TEXT_DELAY: Duration = Duration::from_millis(50);

/// Or until there is so much of it.
const TEXT_BYTES: usize = 64 * 1024;

/// One thing to be sent.
pub(super) enum Outgoing {
    Iopub(JupyterMessage),
    Text {
        cause: Arc<JupyterMessage>,
        stream: Stream,
        text: String,
    },
    Reply(JupyterMessage),
    Question(JupyterMessage),
}

/// A way to the outbox; what goes through one lane stays in order.
#[derive(Clone)]
pub(super) enum Lane {
    /// Of the evaluation thread. A cell that prints faster than a front end reads waits here,
    /// rather than fill the memory.
    Cell(Sender<Outgoing>),
    /// Of shell requests that are answered at once. It never waits.
    Prompt(UnboundedSender<Outgoing>),
    /// Of control requests. Their replies do not pass through the outbox: an interrupt is to be
    /// answered even when a front end has stopped reading its outputs.
    Control {
        iopub: UnboundedSender<Outgoing>,
        replies: UnboundedSender<JupyterMessage>,
    },
}

impl Lane {
    /// Sends; at the end of the kernel, when nobody takes it any more, it is lost.
    pub(super) fn send(&self, outgoing: Outgoing) {
        let _ = match self {
            Lane::Cell(lane) => lane.blocking_send(outgoing).ok(),
            Lane::Prompt(lane) | Lane::Control { iopub: lane, .. } => lane.send(outgoing).ok(),
        };
    }

    pub(super) fn reply(&self, reply: JupyterMessage) {
        match self {
            Lane::Control { replies, .. } => {
                let _ = replies.send(reply);
            }
            Lane::Cell(_) | Lane::Prompt(_) => self.send(Outgoing::Reply(reply)),
        }
    }
}

/// Text of one stream that waits for more.
struct Pending {
    cause: Arc<JupyterMessage>,
    stream: Stream,
    text: String,
    due: Instant,
}

pub(super) struct Outbox {
    iopub: KernelIoPubXPubConnection,
    shell: RouterSendConnection,
    stdin: RouterSendConnection,
    shared: Arc<Shared>,
    text: Option<Pending>,
    updates: Updates,
    /// Whether the first status, `starting`, is out.
    announced: bool,
    /// Whether the evaluation thread is busy, as far as the front ends have been told.
    busy: bool,
}

impl Outbox {
    pub(super) fn new(
        iopub: KernelIoPubXPubConnection,
        shell: RouterSendConnection,
        stdin: RouterSendConnection,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            iopub,
            shell,
            stdin,
            shared,
            text: None,
            updates: Updates::default(),
            announced: false,
            busy: false,
        }
    }

    /// Sends until all lanes are closed.
    pub(super) async fn run(
        mut self,
        mut prompt: UnboundedReceiver<Outgoing>,
        mut cell: Receiver<Outgoing>,
    ) {
        loop {
            let due = self.text.as_ref().map(|text| text.due);
            let update = self.updates.due();
            tokio::select! {
                biased;
                event = self.iopub.recv_subscription() => self.subscribed(event).await,
                () = sleep_until(due), if due.is_some() => self.flush_text().await,
                () = sleep_until(update), if update.is_some() => self.flush_updates().await,
                next = next(&mut prompt, &mut cell) => match next {
                    Some(Next::Prompt(outgoing)) => self.send_aside(outgoing).await,
                    Some(Next::Cell(outgoing)) => self.send_of_cell(outgoing).await,
                    None => break,
                },
            }
        }
        self.flush().await;
    }

    /// Welcomes a front end: what is published from now on reaches it.
    async fn subscribed(&mut self, event: Result<SubscriptionEvent>) {
        let topic = match event {
            Ok(SubscriptionEvent::Subscribe(topic)) => topic,
            Ok(SubscriptionEvent::Unsubscribe(_)) => return,
            Err(error) => return eprintln!("taper: a front end has left: {error}"),
        };
        let welcome = JupyterMessage::from(IoPubWelcome::new(topic.clone()));
        let welcome = welcome.with_zmq_identities(vec![topic.into_bytes().into()]);
        deliver(&mut self.iopub, welcome).await;
        self.announce().await;
    }

    /// `starting` comes before any other status, and only once.
    async fn announce(&mut self) {
        if !self.announced {
            self.announced = true;
            self.publish(Status::starting().into()).await;
        }
    }

    async fn publish(&mut self, message: JupyterMessage) {
        let topic = message.header.msg_type.clone();
        let message = message.with_zmq_identities(vec![topic.into_bytes().into()]);
        deliver(&mut self.iopub, message).await;
    }

    /// Sends what the evaluation thread gave.
    async fn send_of_cell(&mut self, outgoing: Outgoing) {
        if let Outgoing::Text {
            cause,
            stream,
            text,
        } = outgoing
        {
            return self.add_text(cause, stream, text).await;
        }
        // Neither waits for the other: an update shows where its display stands.
        match outgoing {
            Outgoing::Iopub(message) if Updates::is_one(&message) => self.updates.hold(message),
            outgoing => self.send_in_order(outgoing).await,
        }
    }

    /// Sends after all that has waited.
    async fn send_in_order(&mut self, outgoing: Outgoing) {
        self.flush().await;
        if let Some(state) = status(&outgoing) {
            self.busy = *state == ExecutionState::Busy;
        }
        self.send(outgoing).await;
    }

    /// Sends what an answer beside the evaluation gave. Front ends believe the last status they
    /// saw, whatever it belongs to: when this was an `idle` while a cell still runs, they are told
    /// again that the kernel is busy, as a message that belongs to no request.
    async fn send_aside(&mut self, outgoing: Outgoing) {
        let idle = status(&outgoing) == Some(&ExecutionState::Idle);
        self.send(outgoing).await;
        if idle && self.busy {
            self.publish(Status::busy().into()).await;
        }
    }

    async fn send(&mut self, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Iopub(message) => {
                self.announce().await;
                self.publish(message).await;
            }
            Outgoing::Text {
                cause,
                stream,
                text,
            } => self.add_text(cause, stream, text).await,
            Outgoing::Reply(message) => {
                deliver(&mut self.shell, message).await;
            }
            Outgoing::Question(message) => {
                // The cell must not wait for somebody who was never asked.
                if !deliver(&mut self.stdin, message).await {
                    self.shared.prompts.cancel();
                }
            }
        }
    }

    async fn add_text(&mut self, cause: Arc<JupyterMessage>, stream: Stream, text: String) {
        if self.text.as_ref().is_some_and(|old| old.stream != stream) {
            self.flush_text().await;
        }
        let pending = self.text.get_or_insert_with(|| Pending {
            cause,
            stream,
            text: String::new(),
            due: Instant::now() + TEXT_DELAY,
        });
        pending.text.push_str(&text);
        if pending.text.len() >= TEXT_BYTES {
            self.flush_text().await;
        }
    }

    async fn flush(&mut self) {
        self.flush_text().await;
        self.flush_updates().await;
    }

    async fn flush_updates(&mut self) {
        for update in self.updates.take() {
            self.publish(update).await;
        }
    }

    async fn flush_text(&mut self) {
        let Some(pending) = self.text.take() else {
            return;
        };
        let name = match pending.stream {
            Stream::Stdout => Stdio::Stdout,
            Stream::Stderr => Stdio::Stderr,
        };
        let text = pending.text;
        let message = StreamContent { name, text }.as_child_of(&pending.cause);
        self.publish(message).await;
    }
}

enum Next {
    Prompt(Outgoing),
    Cell(Outgoing),
}

async fn next(
    prompt: &mut UnboundedReceiver<Outgoing>,
    cell: &mut Receiver<Outgoing>,
) -> Option<Next> {
    tokio::select! {
        biased;
        Some(outgoing) = prompt.recv() => Some(Next::Prompt(outgoing)),
        Some(outgoing) = cell.recv() => Some(Next::Cell(outgoing)),
        else => None,
    }
}

async fn sleep_until(due: Option<Instant>) {
    if let Some(due) = due {
        tokio::time::sleep_until(due).await;
    }
}

fn status(outgoing: &Outgoing) -> Option<&ExecutionState> {
    match outgoing {
        Outgoing::Iopub(message) => match &message.content {
            JupyterMessageContent::Status(status) => Some(&status.execution_state),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the message could be sent; a front end that has gone away is no reason to stop.
pub(super) async fn deliver<S: SocketSend>(
    connection: &mut Connection<S>,
    message: JupyterMessage,
) -> bool {
    let kind = message.header.msg_type.clone();
    match connection.send(message).await {
        Ok(()) => true,
        Err(error) => {
            eprintln!("taper: could not send `{kind}`: {error}");
            false
        }
    }
}
