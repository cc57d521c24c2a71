//! Messages as frames, and their signatures.

use bytes::Bytes;
use jupyter_protocol::JupyterMessage;
use ring::hmac::{HMAC_SHA256, Key, sign, verify};
use serde_json::to_vec;

/// The frames of a message.
pub(super) type Frames = Vec<Bytes>;

/// Separates the identities of the peer from the signature.
const DELIMITER: &[u8] = b"<IDS|MSG>";

/// How many parts are signed: header, parent header, metadata and content. Buffers follow.
const SIGNED: usize = 4;

/// Signs messages and verifies signatures, with the key of one connection file.
#[derive(Clone)]
pub(super) struct Wire {
    key: Key,
    /// The id of the kernel's session, in the header of each of its messages.
    session: String,
}

/// A message whose signature was verified.
pub(super) struct Verified {
    pub(super) identities: Frames,
    pub(super) signature: Vec<u8>,
    /// Header, parent header, metadata, content and buffers.
    pub(super) parts: Frames,
}

/// Why a message was not verified.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum Unverified {
    /// It has no delimiter, no signature, or too few parts.
    #[error("it is not a message of Jupyter")]
    Malformed,
    /// Its sender does not know the key.
    #[error("its signature is wrong")]
    Signature,
}

impl Wire {
    pub(super) fn new(key: &str, session: String) -> Self {
        let key = Key::new(HMAC_SHA256, key.as_bytes());
        Self { key, session }
    }

    /// Returns the frames of a message, which begin with the identities of its receiver.
    pub(super) fn encode(&self, mut message: JupyterMessage) -> serde_json::Result<Frames> {
        message.header.session.clone_from(&self.session);
        let parent = message.parent_header.as_ref();
        let parts = [
            to_vec(&message.header)?,
            parent.map_or(Ok(b"{}".to_vec()), to_vec)?,
            to_vec(&message.metadata)?,
            to_vec(&message.content)?,
        ];
        let signature = sign(&self.key, &parts.concat());
        let mut frames = message.zmq_identities;
        frames.push(DELIMITER.into());
        frames.push(hexadecimal(signature.as_ref()).into());
        frames.extend(parts.into_iter().map(Bytes::from));
        frames.extend(message.buffers);
        Ok(frames)
    }

    /// Splits a message, and verifies its signature.
    pub(super) fn verify(&self, frames: Frames) -> Result<Verified, Unverified> {
        let mut frames = frames.into_iter();
        let identities: Frames = frames
            .by_ref()
            .take_while(|it| **it != *DELIMITER)
            .collect();
        let signature = frames.next().ok_or(Unverified::Malformed)?;
        let parts: Frames = frames.collect();
        let signed = parts.get(..SIGNED).ok_or(Unverified::Malformed)?.concat();
        let signature = bytes_of(&signature).ok_or(Unverified::Signature)?;
        verify(&self.key, &signed, &signature).map_err(|_| Unverified::Signature)?;
        Ok(Verified {
            identities,
            signature,
            parts,
        })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(hexadecimal: &[u8]) -> Option<Vec<u8>> {
    let digits = hexadecimal.chunks(2).map(|pair| str::from_utf8(pair).ok());
    let bytes = digits.map(|pair| u8::from_str_radix(pair?, 16).ok());
    bytes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jupyter_protocol::Status;

    fn frames() -> (Wire, Frames) {
        let wire = Wire::new("a key", "session".to_owned());
        let mut message = JupyterMessage::from(Status::busy());
        message.zmq_identities = vec![Bytes::from_static(b"peer")];
        message.buffers = vec![Bytes::from_static(b"buffer")];
        let frames = wire.encode(message).unwrap();
        (wire, frames)
    }

    #[test]
    fn a_message_is_verified_as_it_was_signed() {
        let (wire, frames) = frames();
        let verified = wire.verify(frames.clone()).unwrap();
        assert_eq!(verified.identities, [&b"peer"[..]]);
        assert_eq!(verified.parts, frames[3..]);
        assert!(verified.parts[0].windows(9).any(|it| it == b"\"session\""));
        assert_eq!(hexadecimal(&verified.signature).as_bytes(), frames[2]);
        assert_eq!(bytes_of(b"00fF"), Some(vec![0, 255]));
        assert_eq!(bytes_of(b"0"), Some(vec![0]));
    }

    #[test]
    fn messages_that_were_changed_or_cut_are_refused() {
        let (wire, frames) = frames();
        let refused = |frames: &[Bytes]| wire.verify(frames.to_vec()).err();
        for signed in 3..7 {
            let mut changed = frames.clone();
            changed[signed] = Bytes::from_static(b"{\"a\":1}");
            assert_eq!(refused(&changed), Some(Unverified::Signature));
        }
        for signature in ["", "zz", "é", "0123"] {
            let mut changed = frames.clone();
            changed[2] = Bytes::from_static(signature.as_bytes());
            assert_eq!(
                refused(&changed),
                Some(Unverified::Signature),
                "{signature}"
            );
        }
        for length in 0..6 {
            assert_eq!(refused(&frames[..length]), Some(Unverified::Malformed));
        }
        let other = Wire::new("another key", String::new());
        assert_eq!(other.verify(frames).err(), Some(Unverified::Signature));
    }
}
