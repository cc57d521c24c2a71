//! Incoming messages: verified, not replayed, parsed.

use super::defaults::{fill_in, header};
use super::router::Reader;
use super::signatures::SeenSignatures;
use super::stop::Stop;
use super::wire::{Verified, Wire};
use jupyter_protocol::{JupyterMessage, JupyterMessageContent, UnknownMessage};
use serde_json::{Value, from_slice};
use std::sync::Mutex;
use taper_host::mutex::lock;

/// Receives the messages of all channels: a message that was accepted on one channel must not be
/// accepted again on another.
pub(super) struct Inbox {
    stop: Stop,
    wire: Wire,
    signatures: Mutex<SeenSignatures>,
}

impl Inbox {
    /// Creates an inbox that verifies with `wire`, and receives until `stop` is requested.
    pub(super) fn new(stop: Stop, wire: Wire) -> Self {
        Self {
            stop,
            wire,
            signatures: Mutex::default(),
        }
    }

    /// Returns the next message with a valid signature; `None` when the kernel stops or the socket
    /// has ended.
    ///
    /// A message that is not signed, was received before or has no readable header is reported on
    /// standard error and dropped: its sender is unknown, so there can be no reply.
    pub(super) async fn receive(&self, reader: &mut Reader) -> Option<JupyterMessage> {
        loop {
            let (frames, _unverified) = tokio::select! {
                received = reader.receive() => received?,
                () = self.stop.requested() => return None,
            };
            let verified = match self.wire.verify(frames) {
                Ok(verified) => verified,
                Err(error) => {
                    eprintln!("taper: dropped a message: {error}");
                    continue;
                }
            };
            if !lock(&self.signatures).insert(&verified.signature) {
                eprintln!("taper: dropped a message that was received before");
                continue;
            }
            match parse(verified) {
                Ok(message) => return Some(message),
                Err(error) => eprintln!("taper: dropped a message: {error}"),
            }
        }
    }
}

/// Parses the parts of a message. Content that does not fit its type becomes an unknown message of
/// that type, which gets a reply; the library's own parser would lose the sender.
fn parse(verified: Verified) -> serde_json::Result<JupyterMessage> {
    let parts = verified.parts;
    let header = header(&parts[0])?;
    let mut content: Value = from_slice(&parts[3]).unwrap_or_default();
    let kind = &header.msg_type;
    fill_in(kind, &mut content);
    let content =
        JupyterMessageContent::from_type_and_content(kind, content).unwrap_or_else(|error| {
            eprintln!("taper: cannot read the content of a message `{kind}`: {error}");
            let msg_type = kind.clone();
            let content = Value::Null;
            UnknownMessage { msg_type, content }.into()
        });
    Ok(JupyterMessage {
        zmq_identities: verified.identities,
        parent_header: from_slice(&parts[1]).ok(),
        metadata: from_slice(&parts[2]).unwrap_or_default(),
        buffers: parts[4..].to_vec(),
        channel: None,
        header,
        content,
    })
}
