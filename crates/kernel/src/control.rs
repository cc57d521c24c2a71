//! The control channel: interrupts and the end, also while a cell runs.

use super::answers::answer;
use super::outbox::{Lane, Outgoing, deliver};
use super::request::Request;
use super::shared::Shared;
use super::sockets::receive;
use jupyter_zmq_client::KernelControlConnection;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Answers requests until the kernel stops.
pub(super) async fn run(
    mut control: KernelControlConnection,
    iopub: UnboundedSender<Outgoing>,
    shared: Arc<Shared>,
) {
    let (replies, mut to_send) = unbounded_channel();
    let lane = Lane::Control { iopub, replies };
    while let Some(message) = receive(&mut control, &shared).await {
        answer(Request::begin(Arc::new(message), lane.clone()), &shared);
        while let Ok(reply) = to_send.try_recv() {
            deliver(&mut control, reply).await;
        }
    }
}
