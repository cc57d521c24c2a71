//! The stdin channel: answers to the questions of cells.

use super::inbox::Inbox;
use super::router::Reader;
use super::shared::Shared;
use std::sync::Arc;

/// Passes answers to cells until the kernel stops.
pub(super) async fn run(mut answers: Reader, inbox: Arc<Inbox>, shared: Arc<Shared>) {
    while let Some(message) = inbox.receive(&mut answers).await {
        shared.prompts.answer(&message);
    }
    shared.stop();
}
