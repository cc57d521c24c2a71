//! Questions of a cell to the person, over the stdin channel.

use super::request::Request;
use super::shared::{Shared, lock};
use super::sockets::receive;
use jupyter_protocol::{InputRequest, JupyterMessage, JupyterMessageContent};
use jupyter_zmq_client::RouterRecvConnection;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

/// At most one question is open: there is one evaluation thread.
#[derive(Default)]
pub(super) struct Prompts(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Quiet,
    Asked {
        question: String,
        answer: Sender<String>,
    },
    /// The kernel ends: nobody will answer.
    Closed,
}

impl Prompts {
    /// Asks whoever sent `request`, and waits. `None` when the question was cancelled.
    pub(super) fn ask(&self, request: &Request, prompt: &str, password: bool) -> Option<String> {
        let question = request.question(InputRequest {
            prompt: prompt.to_owned(),
            password,
        });
        let (answer, answered) = channel();
        {
            let mut state = lock(&self.0);
            if matches!(*state, State::Closed) {
                return None;
            }
            *state = State::Asked {
                question: question.header.msg_id.clone(),
                answer,
            };
        }
        request.ask(question);
        answered.recv().ok()
    }

    /// Hands an answer to the cell that waits. One that names another question is too late; some
    /// front ends do not say which question they answer.
    fn answer(&self, message: &JupyterMessage) {
        let JupyterMessageContent::InputReply(reply) = &message.content else {
            return;
        };
        let parent = message.parent_header.as_ref();
        let mut state = lock(&self.0);
        if let State::Asked { question, answer } = &*state
            && parent.is_none_or(|parent| parent.msg_id == *question)
        {
            let _ = answer.send(reply.value.clone());
            *state = State::Quiet;
        }
    }

    /// Lets the cell that waits go without an answer.
    pub(super) fn cancel(&self) {
        let mut state = lock(&self.0);
        if matches!(*state, State::Asked { .. }) {
            *state = State::Quiet;
        }
    }

    pub(super) fn close(&self) {
        *lock(&self.0) = State::Closed;
    }
}

/// Reads the stdin channel until the kernel stops.
pub(super) async fn read(mut answers: RouterRecvConnection, shared: Arc<Shared>) {
    while let Some(message) = receive(&mut answers, &shared).await {
        shared.prompts.answer(&message);
    }
}
