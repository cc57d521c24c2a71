//! The control channel: interrupts and shutdown, also while a cell runs.

use super::answers::answer;
use super::inbox::Inbox;
use super::outgoing::{OutboxSender, Outgoing};
use super::request::Request;
use super::router::Reader;
use super::shared::Shared;
use super::sockets::ReplyConnection;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Answers requests until the kernel stops.
pub(super) async fn run(
    mut requests: Reader,
    mut control: ReplyConnection,
    iopub: UnboundedSender<Outgoing>,
    inbox: Arc<Inbox>,
    shared: Arc<Shared>,
) {
    let (replies, mut to_send) = unbounded_channel();
    let outbox = OutboxSender::Control { iopub, replies };
    while let Some(message) = inbox.receive(&mut requests).await {
        answer(Request::begin(Arc::new(message), outbox.clone()), &shared);
        while let Ok(reply) = to_send.try_recv() {
            control.deliver(reply);
        }
    }
    shared.stop();
}
