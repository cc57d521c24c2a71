//! The shell channel: requests for the evaluator are queued, the others are answered at once.

use super::answers::answer;
use super::evaluation_thread::Job;
use super::inbox::Inbox;
use super::outgoing::OutboxSender;
use super::request::Request;
use super::router::Reader;
use super::shared::Shared;
use super::stale;
use jupyter_protocol::{JupyterMessage, JupyterMessageContent};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Reads requests until the kernel stops.
pub(super) async fn run(
    mut requests: Reader,
    outbox: OutboxSender,
    jobs: Sender<Job>,
    inbox: Arc<Inbox>,
    shared: Arc<Shared>,
) {
    while let Some(message) = inbox.receive(&mut requests).await {
        let message = Arc::new(message);
        if !needs_evaluator(&message, &shared) {
            answer(Request::begin(message, outbox.clone()), &shared);
            continue;
        }
        let ticket = shared.take_ticket();
        if jobs.send(Job { ticket, message }).is_err() {
            eprintln!("taper: the evaluation thread has ended unexpectedly, the kernel ends");
            break;
        }
    }
    shared.stop();
}

/// Returns whether a request waits for the evaluator. A console asks at each line whether the code is
/// complete: while the evaluator is busy, "unknown" at once is better than the right answer later.
fn needs_evaluator(message: &JupyterMessage, shared: &Shared) -> bool {
    match &message.content {
        JupyterMessageContent::ExecuteRequest(_)
        | JupyterMessageContent::CompleteRequest(_)
        | JupyterMessageContent::InspectRequest(_) => true,
        JupyterMessageContent::IsCompleteRequest(_) => shared.idle(),
        JupyterMessageContent::CommOpen(open) => open.target_name == stale::TARGET,
        JupyterMessageContent::CommMsg(message) => {
            shared.stale.contains(&message.comm_id) || shared.widgets.update(message)
        }
        _ => false,
    }
}
