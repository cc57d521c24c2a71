//! The one task that sends: outputs, replies to shell requests, questions on stdin.

use super::kept::Kept;
use super::outgoing::Outgoing;
use super::publisher::Event;
use super::shared::Shared;
use super::sockets::{IopubConnection, ReplyConnection};
use super::throttle::UpdateThrottle;
use jupyter_protocol::{
    ExecutionState, IoPubWelcome, JupyterMessage, JupyterMessageContent, Status, Stdio,
    StreamContent,
};
use std::sync::Arc;
use std::time::Duration;
use taper_evaluator::event::Stream;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver};
use tokio::time::Instant;

/// The length of the evaluation thread's queue; when it is full, the cell waits.
pub(super) const EVALUATION_QUEUE: usize = 256;

/// How long text waits for more text of the same stream before it is sent.
const TEXT_DELAY: Duration = Duration::from_millis(50);

/// Text of this length is sent without waiting.
const TEXT_BYTES: usize = 64 * 1024;

/// Text of one stream that waits for more text.
struct Pending {
    cause: Arc<JupyterMessage>,
    stream: Stream,
    text: String,
    due: Instant,
}

/// Sends the messages of all queues.
pub(super) struct Outbox {
    iopub: IopubConnection,
    shell: ReplyConnection,
    stdin: ReplyConnection,
    shared: Arc<Shared>,
    text: Option<Pending>,
    updates: UpdateThrottle,
    kept: Kept,
    /// Whether the first status, `starting`, has been sent.
    announced: bool,
    /// Whether the last status of the evaluation thread that front ends received is `busy`.
    busy: bool,
}

impl Outbox {
    pub(super) fn new(
        iopub: IopubConnection,
        shell: ReplyConnection,
        stdin: ReplyConnection,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            iopub,
            shell,
            stdin,
            shared,
            text: None,
            updates: UpdateThrottle::default(),
            kept: Kept::default(),
            announced: false,
            busy: false,
        }
    }

    /// Sends until all queues are closed.
    pub(super) async fn run(
        mut self,
        mut immediate: UnboundedReceiver<Outgoing>,
        mut evaluation: Receiver<Outgoing>,
    ) {
        loop {
            let due = self.text.as_ref().map(|text| text.due);
            let update = self.updates.due();
            tokio::select! {
                biased;
                event = self.iopub.socket.event() => self.subscriber(event),
                () = sleep_until(due), if due.is_some() => self.flush_text(),
                () = sleep_until(update), if update.is_some() => self.flush_updates(),
                next = next(&mut immediate, &mut evaluation) => match next {
                    Some(Next::Immediate(outgoing)) => self.send_immediate(outgoing),
                    Some(Next::Evaluation(outgoing)) => self.send_evaluation(outgoing),
                    None => break,
                },
            }
        }
        self.flush();
    }

    /// Welcomes a new subscriber, or reports to a slow one how many messages it has missed.
    fn subscriber(&mut self, event: Event) {
        let topic = match event {
            Event::Subscribed { topic } => topic,
            Event::CaughtUp {
                subscriber,
                dropped,
                parent_header,
            } => {
                let mut notice = JupyterMessage::from(StreamContent {
                    name: Stdio::Stderr,
                    text: format!(
                        "\n{dropped} outputs are missing: this front end did not read its outputs for too long\n"
                    ),
                });
                notice.parent_header = serde_json::from_slice(&parent_header).ok();
                self.iopub.socket.only = Some(subscriber);
                self.publish(notice);
                self.iopub.socket.only = None;
                return;
            }
        };
        let welcome = JupyterMessage::from(IoPubWelcome::new(topic.clone()));
        let welcome = welcome.with_zmq_identities(vec![topic.into_bytes().into()]);
        self.iopub.deliver(welcome);
        self.announce();
    }

    /// Publishes `starting` before any other status, and only once.
    fn announce(&mut self) {
        if !self.announced {
            self.announced = true;
            self.publish(Status::starting().into());
        }
    }

    fn publish(&mut self, message: JupyterMessage) {
        self.kept.note(&message);
        let topic = message.header.msg_type.clone();
        let message = message.with_zmq_identities(vec![topic.into_bytes().into()]);
        self.iopub.deliver(message);
    }

    /// Sends a message of the evaluation thread.
    fn send_evaluation(&mut self, outgoing: Outgoing) {
        // Updates and text do not wait for each other: an update is shown in the place of its display.
        match outgoing {
            Outgoing::Text { .. } => self.send(outgoing),
            Outgoing::Iopub(message) if UpdateThrottle::accepts(&message) => {
                self.updates.hold(message)
            }
            outgoing => self.send_in_order(outgoing),
        }
    }

    /// Sends a message after the text and the updates that are waiting.
    fn send_in_order(&mut self, outgoing: Outgoing) {
        if let Outgoing::Question(question) = &outgoing {
            self.leave_to(question);
        }
        self.flush();
        if let Some(state) = status(&outgoing) {
            self.busy = *state == ExecutionState::Busy;
        }
        self.send(outgoing);
    }

    /// Removes text that was printed as the prompt of this question: front ends show the prompt beside their box.
    fn leave_to(&mut self, question: &JupyterMessage) {
        if let JupyterMessageContent::InputRequest(request) = &question.content
            && let Some(pending) = &mut self.text
            && pending.stream == Stream::Stdout
            && let Some(rest) = pending.text.strip_suffix(&*request.prompt)
        {
            match rest.is_empty() {
                true => self.text = None,
                false => pending.text.truncate(rest.len()),
            }
        }
    }

    /// Sends a message of a request that was answered without the evaluator. Front ends show the
    /// last status, whichever request it belongs to: after such an `idle` while a cell still runs,
    /// `busy` is published again, without a request.
    fn send_immediate(&mut self, outgoing: Outgoing) {
        let idle = status(&outgoing) == Some(&ExecutionState::Idle);
        self.send(outgoing);
        if idle && self.busy {
            self.publish(Status::busy().into());
        }
    }

    fn send(&mut self, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Iopub(message) => {
                self.announce();
                self.publish(message);
            }
            Outgoing::Text {
                cause,
                stream,
                text,
            } => self.add_text(cause, stream, text),
            Outgoing::Reply(message) => {
                self.shell.deliver(message);
            }
            Outgoing::Question(message) => {
                // The cell must not wait for the answer to a question that was not sent.
                if !self.stdin.deliver(message) {
                    self.shared.prompts.cancel();
                }
            }
            Outgoing::Keep {
                request,
                cell,
                number,
            } => self.kept.begin(cell, number, request),
            Outgoing::Received { cell } => self.kept.received(&cell),
            Outgoing::Restore { cause, comm_id } => {
                // What the page receives next is not among them.
                self.flush();
                if let Some(message) = self.kept.message(comm_id) {
                    self.publish(message.as_child_of(&cause));
                }
            }
        }
    }

    fn add_text(&mut self, cause: Arc<JupyterMessage>, stream: Stream, text: String) {
        let continues =
            |old: &Pending| old.stream == stream && old.cause.header.msg_id == cause.header.msg_id;
        if !self.text.as_ref().is_none_or(continues) {
            self.flush_text();
        }
        let pending = self.text.get_or_insert_with(|| Pending {
            cause,
            stream,
            text: String::new(),
            due: Instant::now() + TEXT_DELAY,
        });
        pending.text.push_str(&text);
        if pending.text.len() >= TEXT_BYTES {
            self.flush_text();
        }
    }

    fn flush(&mut self) {
        self.flush_text();
        self.flush_updates();
    }

    fn flush_updates(&mut self) {
        for update in self.updates.take() {
            self.publish(update);
        }
    }

    fn flush_text(&mut self) {
        let Some(pending) = self.text.take() else {
            return;
        };
        let name = match pending.stream {
            Stream::Stdout => Stdio::Stdout,
            Stream::Stderr => Stdio::Stderr,
        };
        let text = pending.text;
        let message = StreamContent { name, text }.as_child_of(&pending.cause);
        self.publish(message);
    }
}

enum Next {
    Immediate(Outgoing),
    Evaluation(Outgoing),
}

async fn next(
    immediate: &mut UnboundedReceiver<Outgoing>,
    evaluation: &mut Receiver<Outgoing>,
) -> Option<Next> {
    tokio::select! {
        biased;
        Some(outgoing) = immediate.recv() => Some(Next::Immediate(outgoing)),
        Some(outgoing) = evaluation.recv() => Some(Next::Evaluation(outgoing)),
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
