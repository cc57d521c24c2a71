//! The editing thread: completes and documents code, also while a cell runs.

use super::introspect;
use super::outgoing::OutboxSender;
use super::request::Request;
use super::shared::Shared;
use jupyter_protocol::{JupyterMessage, JupyterMessageContent};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use taper_evaluator::Editor;

/// The size of the stack: code is parsed by deep recursion.
const STACK: usize = 8 << 20;

/// Starts the thread, which waits for the evaluator's editor first. It ends when the returned queue is closed.
pub(super) fn spawn(
    editor: Receiver<Arc<dyn Editor>>,
    outbox: OutboxSender,
    shared: Arc<Shared>,
) -> Sender<Arc<JupyterMessage>> {
    let (queue, requests) = channel::<Arc<JupyterMessage>>();
    let run = move || {
        // Without an evaluator, nothing is known.
        let editor = editor.recv().unwrap_or_else(|_| Arc::new(()));
        for message in requests {
            let request = Request::begin(message.clone(), outbox.clone());
            match &message.content {
                JupyterMessageContent::CompleteRequest(asked) => {
                    request.reply(introspect::complete(&*editor, asked));
                }
                JupyterMessageContent::InspectRequest(asked) => {
                    request.reply(introspect::inspect(&*editor, asked, &shared));
                }
                // The shell queues no other type.
                _ => {}
            }
        }
    };
    let thread = std::thread::Builder::new()
        .name("editing".to_owned())
        .stack_size(STACK);
    thread.spawn(run).expect("the system starts a thread");
    queue
}
