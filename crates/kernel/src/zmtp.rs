//! ZMTP 3.0, as far as a publisher needs it: greeting, frames, subscriptions. See <https://rfc.zeromq.org/spec/23/>.

use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use zeromq::ZmqMessage;

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// The longest frame that a subscriber may send; topics are names of message types.
const MAX_FRAME: u64 = 64 * 1024;

const GREETING: usize = 64;
/// The byte of the greeting that contains the major version.
const VERSION: usize = 10;

/// A message from a subscriber.
#[derive(Debug, PartialEq)]
pub(super) enum Received {
    Subscribe(Vec<u8>),
    Unsubscribe(Vec<u8>),
    /// A message that a publisher ignores.
    Other,
}

/// Exchanges greetings of version 3.0 without authentication, and announces a publisher. In later versions,
/// subscriptions are commands.
pub(super) async fn greet(
    read: &mut (impl AsyncRead + Unpin),
    write: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut greeting = [0; GREETING];
    greeting[..VERSION].copy_from_slice(&[0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f]);
    greeting[VERSION] = 3;
    greeting[12..16].copy_from_slice(b"NULL");
    write.write_all(&greeting).await?;
    let mut peer = [0; GREETING];
    read.read_exact(&mut peer).await?;
    if peer[0] != 0xff || peer[VERSION] < 3 || peer[12..17] != *b"NULL\0" {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let ready = b"\x05READY\x0bSocket-Type\0\0\0\x04XPUB";
    write.write_all(&[COMMAND, ready.len() as u8]).await?;
    write.write_all(ready).await
}

/// Reads the next frame of a subscriber.
pub(super) async fn read(read: &mut (impl AsyncRead + Unpin)) -> io::Result<Received> {
    let flags = read.read_u8().await?;
    let length = match flags & LONG {
        0 => u64::from(read.read_u8().await?),
        _ => read.read_u64().await?,
    };
    if length > MAX_FRAME {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length as usize];
    read.read_exact(&mut body).await?;
    Ok(match body.split_first() {
        Some((1, topic)) if flags & COMMAND == 0 => Received::Subscribe(topic.to_vec()),
        Some((0, topic)) if flags & COMMAND == 0 => Received::Unsubscribe(topic.to_vec()),
        _ => Received::Other,
    })
}

/// Encodes a message as frames.
pub(super) fn encode(message: &ZmqMessage) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(message.iter().map(|part| part.len() + 9).sum());
    let mut parts = message.iter().peekable();
    while let Some(part) = parts.next() {
        let more = if parts.peek().is_some() { MORE } else { 0 };
        match u8::try_from(part.len()) {
            Ok(length) => bytes.extend([more, length]),
            Err(_) => {
                bytes.push(more | LONG);
                bytes.extend((part.len() as u64).to_be_bytes());
            }
        }
        bytes.extend_from_slice(part);
    }
    bytes
}
