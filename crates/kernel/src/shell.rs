//! The shell channel: requests for the evaluator are queued, the others are answered at once.

use super::answers::answer;
use super::evaluation_thread::Job;
use super::inbox::Inbox;
use super::outgoing::{OutboxSender, Outgoing};
use super::request::Request;
use super::router::Reader;
use super::shared::Shared;
use super::{introspect, stale};
use jupyter_protocol::{CommMsg, JupyterMessage, JupyterMessageContent};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use taper_evaluator::IsComplete;

/// The queues of the threads that answer requests.
pub(super) struct Queues {
    /// Those that wait for the evaluator.
    pub(super) jobs: Sender<Job>,
    /// Those of an editor.
    pub(super) editing: Sender<Arc<JupyterMessage>>,
}

/// Reads requests until the kernel stops.
pub(super) async fn run(
    mut requests: Reader,
    outbox: OutboxSender,
    queues: Queues,
    inbox: Arc<Inbox>,
    shared: Arc<Shared>,
    is_complete: IsComplete,
) {
    while let Some(message) = inbox.receive(&mut requests).await {
        let message = Arc::new(message);
        keep_or_restore(&message, &outbox, &shared);
        if let JupyterMessageContent::IsCompleteRequest(asked) = &message.content {
            let reply = introspect::completeness(is_complete, asked);
            Request::begin(message.clone(), outbox.clone()).reply(reply);
            continue;
        }
        if is_of_editor(&message) && !asks_for_value(&message, &shared) {
            // The thread ends with this queue.
            let _ = queues.editing.send(message);
            continue;
        }
        if !needs_evaluator(&message, &shared) {
            answer(Request::begin(message, outbox.clone()), &shared);
            continue;
        }
        let ticket = shared.take_ticket();
        if queues.jobs.send(Job { ticket, message }).is_err() {
            eprintln!("taper: the evaluation thread has ended unexpectedly, the kernel ends");
            break;
        }
    }
    shared.stop();
}

/// Handles at once the comm messages of a page that is opened while a cell runs.
fn keep_or_restore(message: &Arc<JupyterMessage>, outbox: &OutboxSender, shared: &Shared) {
    match &message.content {
        JupyterMessageContent::CommOpen(open) if open.target_name == stale::TARGET => {
            shared.stale.open(&open.comm_id);
            let (cause, comm_id) = (message.clone(), open.comm_id.clone());
            outbox.send(Outgoing::Restore { cause, comm_id });
        }
        JupyterMessageContent::CommMsg(message) if shared.stale.contains(&message.comm_id) => {
            if let Some(cell) = received(message) {
                let cell = cell.to_owned();
                outbox.send(Outgoing::Received { cell });
            }
        }
        _ => {}
    }
}

/// Returns the id of the cell whose outputs a page has shown, if a message says so.
fn received(message: &CommMsg) -> Option<&str> {
    message.data.get("received")?.as_str()
}

fn is_of_editor(message: &JupyterMessage) -> bool {
    matches!(
        message.content,
        JupyterMessageContent::CompleteRequest(_) | JupyterMessageContent::InspectRequest(_)
    )
}

/// Returns whether a request is about a variable whose value can be read now.
fn asks_for_value(message: &JupyterMessage, shared: &Shared) -> bool {
    match &message.content {
        JupyterMessageContent::InspectRequest(asked) => {
            introspect::name(asked).is_some_and(|name| shared.lacks_value(name))
        }
        _ => false,
    }
}

/// Returns whether a request waits for the evaluator.
fn needs_evaluator(message: &JupyterMessage, shared: &Shared) -> bool {
    match &message.content {
        JupyterMessageContent::ExecuteRequest(_) | JupyterMessageContent::InspectRequest(_) => true,
        JupyterMessageContent::CommOpen(open) => open.target_name == stale::TARGET,
        JupyterMessageContent::CommMsg(message) => match shared.stale.contains(&message.comm_id) {
            true => received(message).is_none(),
            false => shared.widgets.update(message),
        },
        _ => false,
    }
}
