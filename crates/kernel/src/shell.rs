//! The shell channel: what needs the evaluator queues for it, the rest is answered at once.

use super::answers::answer;
use super::evaluation_thread::Job;
use super::outbox::Lane;
use super::request::Request;
use super::shared::Shared;
use super::sockets::receive;
use jupyter_protocol::{JupyterMessage, JupyterMessageContent};
use jupyter_zmq_client::RouterRecvConnection;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Reads requests until the kernel stops.
pub(super) async fn run(
    mut requests: RouterRecvConnection,
    lane: Lane,
    jobs: Sender<Job>,
    shared: Arc<Shared>,
) {
    while let Some(message) = receive(&mut requests, &shared).await {
        let message = Arc::new(message);
        if !needs_evaluator(&message, &shared) {
            answer(Request::begin(message, lane.clone()), &shared);
            continue;
        }
        let ticket = shared.take_ticket();
        if jobs.send(Job { ticket, message }).is_err() {
            eprintln!("taper: the evaluation thread is gone, the kernel ends");
            shared.stop();
        }
    }
}

/// Whether a piece of code is complete is asked at each line typed in a console: while the
/// evaluator has other things to do, "unknown" at once is better than the truth later.
fn needs_evaluator(message: &JupyterMessage, shared: &Shared) -> bool {
    match message.content {
        JupyterMessageContent::ExecuteRequest(_)
        | JupyterMessageContent::CompleteRequest(_)
        | JupyterMessageContent::InspectRequest(_) => true,
        JupyterMessageContent::IsCompleteRequest(_) => shared.idle(),
        _ => false,
    }
}
