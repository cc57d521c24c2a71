//! The question that a cell has asked the user.

use jupyter_protocol::{JupyterMessage, JupyterMessageContent};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use taper_host::mutex::lock;

/// The open question, if there is one. There is at most one, because one cell runs at a time.
#[derive(Default)]
pub(super) struct Prompts(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Idle,
    Open {
        question: String,
        answer: Sender<String>,
    },
    /// The kernel is ending: there will be no answer.
    Closed,
}

impl Prompts {
    /// Opens a question, which is to be sent next. The receiver returns the answer, or an error when
    /// the question is cancelled. Returns `None` when the kernel is ending.
    pub(super) fn open(&self, question: &JupyterMessage) -> Option<Receiver<String>> {
        let (answer, receiver) = channel();
        let mut state = lock(&self.0);
        if matches!(*state, State::Closed) {
            return None;
        }
        *state = State::Open {
            question: question.header.msg_id.clone(),
            answer,
        };
        Some(receiver)
    }

    /// Passes an answer to the waiting cell. An answer that names another question is late and
    /// dropped; some front ends do not name the question.
    pub(super) fn answer(&self, message: &JupyterMessage) {
        let JupyterMessageContent::InputReply(reply) = &message.content else {
            return;
        };
        let parent = message.parent_header.as_ref();
        let mut state = lock(&self.0);
        if let State::Open { question, answer } = &*state
            && parent.is_none_or(|parent| parent.msg_id == *question)
        {
            let _ = answer.send(reply.value.clone());
            *state = State::Idle;
        }
    }

    /// Lets the waiting cell continue without an answer.
    pub(super) fn cancel(&self) {
        let mut state = lock(&self.0);
        if matches!(*state, State::Open { .. }) {
            *state = State::Idle;
        }
    }

    /// Cancels the open question and refuses all later ones.
    pub(super) fn close(&self) {
        *lock(&self.0) = State::Closed;
    }
}
