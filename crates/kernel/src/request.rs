//! A request being handled. It ends with exactly one reply and one `idle`, whatever happens.

use super::outgoing::{OutboxSender, Outgoing};
use jupyter_protocol::{
    InputRequest, JupyterMessage, JupyterMessageContent, ReplyError, ReplyStatus, Status,
    UnknownMessage,
};
use serde::Serialize;
use serde_json::Value;
use std::ops::Deref;
use std::sync::Arc;
use taper_evaluator::event::Stream;

/// A request, as the parent of what is published because of it.
pub(super) struct Parent {
    message: Arc<JupyterMessage>,
    outbox: OutboxSender,
}

impl Parent {
    /// Publishes through `outbox`.
    pub(super) fn new(message: Arc<JupyterMessage>, outbox: OutboxSender) -> Parent {
        Parent { message, outbox }
    }

    /// Returns the request.
    pub(super) fn message(&self) -> &JupyterMessage {
        &self.message
    }

    /// Publishes `content` to all front ends, with this request as the parent.
    pub(super) fn publish(&self, content: impl Into<JupyterMessageContent>) {
        let message = JupyterMessage::new(content, Some(&self.message));
        self.outbox.send(Outgoing::Iopub(message));
    }

    /// Publishes `content` with metadata.
    pub(super) fn publish_with(&self, content: impl Into<JupyterMessageContent>, metadata: Value) {
        let mut message = JupyterMessage::new(content, Some(&self.message));
        message.metadata = metadata;
        self.outbox.send(Outgoing::Iopub(message));
    }

    /// Publishes text; adjacent pieces may be sent as one message.
    pub(super) fn text(&self, stream: Stream, text: String) {
        self.outbox.send(Outgoing::Text {
            cause: self.message.clone(),
            stream,
            text,
        });
    }
}

/// A request that publishes `busy` when it begins and `idle` when it is dropped. If there is no reply by
/// then, it replies with an error.
pub(super) struct Request {
    parent: Parent,
    answered: bool,
}

impl Deref for Request {
    type Target = Parent;

    fn deref(&self) -> &Parent {
        &self.parent
    }
}

impl Request {
    /// Begins to handle a message, whose replies and outputs go through `outbox`.
    pub(super) fn begin(message: Arc<JupyterMessage>, outbox: OutboxSender) -> Self {
        let request = Self {
            parent: Parent::new(message, outbox),
            answered: false,
        };
        request.publish(Status::busy());
        request
    }

    /// Returns the content of the request.
    pub(super) fn content(&self) -> &JupyterMessageContent {
        &self.message.content
    }

    /// Returns the metadata of the request.
    pub(super) fn metadata(&self) -> &Value {
        &self.message.metadata
    }

    /// Creates a question to the sender of this request; [`Request::ask`] sends it.
    pub(super) fn question(&self, question: InputRequest) -> JupyterMessage {
        question.as_child_of(&self.message)
    }

    /// Keeps the outputs from now on, as outputs of the cell with this id and number.
    pub(super) fn keep(&self, cell: &str, number: usize) {
        self.outbox.send(Outgoing::Keep {
            request: self.message.header.msg_id.clone(),
            cell: cell.to_owned(),
            number,
        });
    }

    /// Sends a question.
    pub(super) fn ask(&self, question: JupyterMessage) {
        self.outbox.send(Outgoing::Question(question));
    }

    /// Sends the reply, and ends the request.
    pub(super) fn reply(mut self, content: impl Into<JupyterMessageContent>) {
        self.send_reply(content.into());
    }

    fn send_reply(&mut self, content: JupyterMessageContent) {
        self.answered = true;
        self.outbox
            .reply(JupyterMessage::new(content, Some(&self.message)));
    }

    /// Returns the type of the reply; `None` for messages that get none, such as `comm_msg`.
    fn reply_type(&self) -> Option<String> {
        let name = self.message.header.msg_type.strip_suffix("_request")?;
        Some(format!("{name}_reply"))
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if !self.answered
            && let Some(msg_type) = self.reply_type()
        {
            self.send_reply(failure(msg_type));
        }
        self.publish(Status::idle());
    }
}

/// Creates the reply to a request of any type that could not be answered.
fn failure(msg_type: String) -> JupyterMessageContent {
    #[derive(Serialize)]
    struct Failure {
        status: ReplyStatus,
        #[serde(flatten)]
        error: ReplyError,
    }
    let failure = Failure {
        status: ReplyStatus::Error,
        error: ReplyError {
            ename: "RequestError".to_owned(),
            evalue: "this kernel does not support the request, or cannot read or answer it"
                .to_owned(),
            traceback: Vec::new(),
        },
    };
    let content = serde_json::to_value(failure).unwrap_or_default();
    UnknownMessage { msg_type, content }.into()
}
