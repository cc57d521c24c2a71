//! A request under way: it ends with exactly one reply and one `idle`, whatever happens.

use super::outbox::{Lane, Outgoing};
use jupyter_protocol::{
    InputRequest, JupyterMessage, JupyterMessageContent, ReplyError, ReplyStatus, Status,
    UnknownMessage,
};
use serde::Serialize;
use std::sync::Arc;
use taper_evaluator::event::Stream;

/// Announces `busy` when it begins and `idle` when it is dropped; where the reply is missing by
/// then, it answers with an error.
pub(super) struct Request {
    message: Arc<JupyterMessage>,
    lane: Lane,
    answered: bool,
}

impl Request {
    pub(super) fn begin(message: Arc<JupyterMessage>, lane: Lane) -> Self {
        let request = Self {
            message,
            lane,
            answered: false,
        };
        request.publish(Status::busy());
        request
    }

    pub(super) fn content(&self) -> &JupyterMessageContent {
        &self.message.content
    }

    /// Shows `content` to everybody, as caused by this request.
    pub(super) fn publish(&self, content: impl Into<JupyterMessageContent>) {
        let message = JupyterMessage::new(content, Some(&self.message));
        self.lane.send(Outgoing::Iopub(message));
    }

    /// Shows a piece of text; adjacent ones may travel together.
    pub(super) fn text(&self, stream: Stream, text: String) {
        self.lane.send(Outgoing::Text {
            cause: self.message.clone(),
            stream,
            text,
        });
    }

    /// A question to whoever sent this request; [`Request::ask`] sends it.
    pub(super) fn question(&self, question: InputRequest) -> JupyterMessage {
        question.as_child_of(&self.message)
    }

    pub(super) fn ask(&self, question: JupyterMessage) {
        self.lane.send(Outgoing::Question(question));
    }

    /// Answers the request, which ends with it.
    pub(super) fn reply(mut self, content: impl Into<JupyterMessageContent>) {
        self.send_reply(content.into());
    }

    fn send_reply(&mut self, content: JupyterMessageContent) {
        self.answered = true;
        self.lane
            .reply(JupyterMessage::new(content, Some(&self.message)));
    }

    /// Only what is called a request waits for a reply: a `comm_msg` for instance does not.
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

/// The reply to a request of any type that could not be answered.
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
            evalue: "this kernel does not know the request, or cannot read or answer it".to_owned(),
            traceback: Vec::new(),
        },
    };
    let content = serde_json::to_value(failure).unwrap_or_default();
    UnknownMessage { msg_type, content }.into()
}
