//! Outgoing messages, and the queues through which they reach the sockets.

use super::wire::{Frames, Wire};
use jupyter_protocol::{CommId, JupyterMessage};
use std::sync::Arc;
use taper_evaluator::event::Stream;
use tokio::sync::mpsc::{Sender, UnboundedSender};

/// One message to send.
pub(super) enum Outgoing {
    Iopub(JupyterMessage),
    /// Text that a request printed.
    Text {
        cause: Arc<JupyterMessage>,
        stream: Stream,
        text: String,
    },
    Reply(JupyterMessage),
    Question(JupyterMessage),
    /// From now on the outputs of a request, which runs the cell with this id and number, are kept.
    Keep {
        request: String,
        cell: String,
        number: usize,
    },
    /// A page has shown the outputs of a cell.
    Received {
        cell: String,
    },
    /// A page has opened a comm, and receives the kept outputs.
    Restore {
        cause: Arc<JupyterMessage>,
        comm_id: CommId,
    },
}

/// A queue to the outbox; messages in one queue stay in order.
#[derive(Clone)]
pub(super) enum OutboxSender {
    /// The queue of the evaluation thread. It is bounded: a cell that prints faster than a front
    /// end reads waits, instead of filling the memory.
    Evaluation(Sender<Outgoing>),
    /// The queue of shell requests that are answered at once. It never blocks.
    Immediate(UnboundedSender<Outgoing>),
    /// The queue of control requests. Their replies bypass the outbox: an interrupt is answered
    /// even when a front end has stopped reading its outputs.
    Control {
        iopub: UnboundedSender<Outgoing>,
        replies: UnboundedSender<JupyterMessage>,
    },
}

impl OutboxSender {
    /// Queues a message. When the kernel has ended and the queue is closed, it is dropped.
    pub(super) fn send(&self, outgoing: Outgoing) {
        let _ = match self {
            Self::Evaluation(queue) => queue.blocking_send(outgoing).ok(),
            Self::Immediate(queue) | Self::Control { iopub: queue, .. } => {
                queue.send(outgoing).ok()
            }
        };
    }

    /// Queues the reply to a request.
    pub(super) fn reply(&self, reply: JupyterMessage) {
        match self {
            Self::Control { replies, .. } => {
                let _ = replies.send(reply);
            }
            Self::Evaluation(_) | Self::Immediate(_) => self.send(Outgoing::Reply(reply)),
        }
    }
}

/// A socket that queues messages: it never waits.
pub(super) trait Socket {
    /// Queues a message, or returns why not.
    fn queue(&mut self, message: Frames) -> Result<(), &'static str>;
}

/// A socket, with what signs its messages.
pub(super) struct Connection<S> {
    pub(super) socket: S,
    pub(super) wire: Wire,
}

impl<S: Socket> Connection<S> {
    /// Sends a message and returns whether that worked; the kernel continues when a front end has left.
    pub(super) fn deliver(&mut self, message: JupyterMessage) -> bool {
        let kind = message.header.msg_type.clone();
        let encoded = self.wire.encode(message).map_err(|error| error.to_string());
        let queued = encoded.and_then(|it| self.socket.queue(it).map_err(str::to_owned));
        if let Err(error) = &queued {
            eprintln!("taper: could not send `{kind}`: {error}");
        }
        queued.is_ok()
    }
}
