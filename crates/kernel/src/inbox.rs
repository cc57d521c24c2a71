//! Incoming messages: verified, not replayed, parsed.

use super::defaults::{fill_in, header};
use super::router::Reader;
use super::signatures::SeenSignatures;
use super::stop::Stop;
use jupyter_protocol::{JupyterMessage, JupyterMessageContent, UnknownMessage};
use jupyter_zmq_client::{RawMessage, RuntimeError};
use ring::hmac::Key;
use serde_json::{Value, from_slice};
use std::sync::Mutex;
use taper_host::mutex::lock;
use zeromq::ZmqMessage;

/// Separates the sender's identities from the signature.
const DELIMITER: &[u8] = b"<IDS|MSG>";

/// Receives the messages of all channels: a message that was accepted on one channel must not be
/// accepted again on another.
pub(super) struct Inbox {
    stop: Stop,
    mac: Option<Key>,
    signatures: Mutex<SeenSignatures>,
}

impl Inbox {
    /// Creates an inbox that verifies with `mac`, and receives until `stop` is requested.
    pub(super) fn new(stop: Stop, mac: Option<Key>) -> Self {
        Self {
            stop,
            mac,
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
            let (multipart, _unverified) = tokio::select! {
                received = reader.receive() => received?,
                () = self.stop.requested() => return None,
            };
            let signature = signature(&multipart);
            let signed = RawMessage::from_multipart(multipart, &self.mac);
            if signed.is_ok() && !lock(&self.signatures).insert(&signature) {
                eprintln!("taper: dropped a message that was received before");
                continue;
            }
            match signed.and_then(parse) {
                Ok(message) => return Some(message),
                Err(RuntimeError::VerifyError(_)) => {
                    eprintln!("taper: dropped a message with a wrong signature");
                }
                Err(error) => eprintln!("taper: dropped a message: {error}"),
            }
        }
    }
}

/// Returns the signature of a message: the part after the delimiter.
fn signature(multipart: &ZmqMessage) -> Vec<u8> {
    let mut parts = multipart.iter().skip_while(|part| part[..] != *DELIMITER);
    parts.nth(1).map(|part| part.to_vec()).unwrap_or_default()
}

/// Parses the parts of a message. Content that does not fit its type becomes an unknown message of
/// that type, which gets a reply; the library's own parser would lose the sender.
fn parse(raw: RawMessage) -> Result<JupyterMessage, RuntimeError> {
    let header = header(&raw.jparts[0])?;
    let mut content: Value = from_slice(&raw.jparts[3]).unwrap_or_default();
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
        zmq_identities: raw.zmq_identities,
        parent_header: from_slice(&raw.jparts[1]).ok(),
        metadata: from_slice(&raw.jparts[2]).unwrap_or_default(),
        buffers: raw.jparts[4..].to_vec(),
        channel: None,
        header,
        content,
    })
}
