//! ZMTP 3.0, as far as a kernel needs it: greeting, frames, messages, subscriptions. See <https://rfc.zeromq.org/spec/23/>.

use super::budget::Share;
use super::wire::Frames;
use bytes::Bytes;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// The longest command or subscription that a peer may send; topics are names of message types.
const MAX_FRAME: u64 = 64 * 1024;

/// How many frames a message may have.
const MAX_PARTS: usize = 4096;

/// What a frame takes in memory beside its content.
const PART: usize = 64;

/// A frame is read in parts of this size.
const CHUNK: u64 = 64 * 1024;

const GREETING: usize = 64;
/// The byte of the greeting that contains the major version.
const VERSION: usize = 10;
const READY: &[u8] = b"\x05READY";

/// A message from a subscriber.
#[derive(Debug, PartialEq)]
pub(super) enum Received {
    Subscribe(Vec<u8>),
    Unsubscribe(Vec<u8>),
    /// A message that a publisher ignores.
    Other,
}

struct Header {
    more: bool,
    command: bool,
    length: u64,
}

/// Exchanges greetings of version 3.0 without authentication, and announces a socket of this type. In later versions,
/// subscriptions are commands.
pub(super) async fn greet(
    read: &mut (impl AsyncRead + Unpin),
    write: &mut (impl AsyncWrite + Unpin),
    socket: &str,
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
    let mut ready = [READY, b"\x0bSocket-Type"].concat();
    ready.extend((socket.len() as u32).to_be_bytes());
    ready.extend(socket.as_bytes());
    write.write_all(&[COMMAND, ready.len() as u8]).await?;
    write.write_all(&ready).await
}

/// Reads the command with which a peer answers the greeting. Returns its identity, which is empty if it has none.
pub(super) async fn read_identity(read: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let header = read_header(read).await?;
    let body = read_short(read, &header).await?;
    let identity = body.strip_prefix(READY).filter(|_| header.command);
    identity
        .and_then(identity_in)
        .filter(|identity| identity.len() < 256)
        .ok_or(io::ErrorKind::InvalidData.into())
}

/// Returns the value of the property `Identity`; `None` if the properties are malformed.
fn identity_in(mut properties: &[u8]) -> Option<Vec<u8>> {
    let mut identity = Vec::new();
    while let Some((&length, rest)) = properties.split_first() {
        let (name, rest) = rest.split_at_checked(length.into())?;
        let (length, rest) = rest.split_at_checked(4)?;
        let length = u32::from_be_bytes(length.try_into().ok()?);
        let (value, rest) = rest.split_at_checked(length.try_into().ok()?)?;
        if name.eq_ignore_ascii_case(b"Identity") {
            identity = value.to_vec();
        }
        properties = rest;
    }
    Some(identity)
}

/// Reads the next message. Returns `None` if it has too many frames or the share cannot grow: its bytes are read and
/// discarded, so that the next message follows.
pub(super) async fn read_message(
    read: &mut (impl AsyncRead + Unpin),
    share: Share,
) -> io::Result<Option<(Frames, Share)>> {
    let mut share = Some(share);
    let mut message: Option<Frames> = None;
    loop {
        let header = read_header(read).await?;
        if header.command {
            skip(read, header.length).await?;
            continue;
        }
        let part = match &mut share {
            Some(share) => read_part(read, header.length, share).await?,
            None => {
                skip(read, header.length).await?;
                None
            }
        };
        match (part, &mut message) {
            (Some(part), Some(message)) if message.len() < MAX_PARTS => {
                message.push(part.into());
            }
            (Some(part), None) => message = Some(vec![part.into()]),
            _ => (share, message) = (None, None),
        }
        if !header.more {
            return Ok(message.zip(share));
        }
    }
}

/// Reads the content of a frame as it arrives: a length that is only announced takes no memory. Returns `None`, after
/// all of it was read, if the share cannot grow.
async fn read_part(
    read: &mut (impl AsyncRead + Unpin),
    length: u64,
    share: &mut Share,
) -> io::Result<Option<Vec<u8>>> {
    let mut part = Vec::new();
    let mut left = length;
    let mut fits = share.grow(PART);
    while left > 0 {
        let chunk = left.min(CHUNK);
        fits = fits && share.grow(chunk as usize);
        if !fits {
            skip(read, left).await?;
            break;
        }
        let found = (&mut *read).take(chunk).read_to_end(&mut part).await?;
        if (found as u64) < chunk {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= chunk;
    }
    Ok(fits.then_some(part))
}

/// Reads bytes and discards them.
async fn skip(read: &mut (impl AsyncRead + Unpin), length: u64) -> io::Result<()> {
    let mut rest = (&mut *read).take(length);
    match tokio::io::copy(&mut rest, &mut tokio::io::sink()).await? == length {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Reads the next frame of a subscriber.
pub(super) async fn read_subscription(read: &mut (impl AsyncRead + Unpin)) -> io::Result<Received> {
    let header = read_header(read).await?;
    let body = read_short(read, &header).await?;
    Ok(match body.split_first() {
        Some((1, topic)) if !header.command => Received::Subscribe(topic.to_vec()),
        Some((0, topic)) if !header.command => Received::Unsubscribe(topic.to_vec()),
        _ => Received::Other,
    })
}

async fn read_header(read: &mut (impl AsyncRead + Unpin)) -> io::Result<Header> {
    let flags = read.read_u8().await?;
    let length = match flags & LONG {
        0 => u64::from(read.read_u8().await?),
        _ => read.read_u64().await?,
    };
    Ok(Header {
        more: flags & MORE != 0,
        command: flags & COMMAND != 0,
        length,
    })
}

/// Reads the content of a frame, which must not be long.
async fn read_short(read: &mut (impl AsyncRead + Unpin), header: &Header) -> io::Result<Vec<u8>> {
    if header.length > MAX_FRAME {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; header.length as usize];
    read.read_exact(&mut body).await?;
    Ok(body)
}

/// Encodes a message as frames.
pub(super) fn encode(message: &[Bytes]) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use super::super::budget::Budget;
    use super::*;
    use std::sync::Arc;

    /// Reads the messages in these bytes; a discarded message is `None`.
    async fn messages(mut bytes: &[u8], limit: usize) -> Vec<Option<Vec<usize>>> {
        let budget = Arc::new(Budget::with_limit(limit));
        let mut found = Vec::new();
        while let Ok(message) = read_message(&mut bytes, Share::of(&budget)).await {
            let lengths = |(message, _): (Frames, Share)| message.iter().map(|p| p.len()).collect();
            found.push(message.map(lengths));
        }
        found
    }

    fn message(parts: &[usize]) -> Vec<u8> {
        let parts = parts.iter().map(|length| vec![7; *length].into());
        encode(&parts.collect::<Frames>())
    }

    #[tokio::test]
    async fn messages_are_read_as_they_were_encoded() {
        let bytes = [message(&[3]), message(&[0, 255, 256, 200_000])].concat();
        let expected = [Some(vec![3]), Some(vec![0, 255, 256, 200_000])];
        assert_eq!(messages(&bytes, 1 << 20).await, expected);
    }

    #[tokio::test]
    async fn a_message_above_the_limit_is_discarded_and_the_next_is_read() {
        let (large, many) = (message(&[5, 300_000, 5]), message(&[1; MAX_PARTS + 1]));
        let bytes = [large, message(&[3]), many, message(&[4, 4])].concat();
        let expected = [None, Some(vec![3]), None, Some(vec![4, 4])];
        assert_eq!(messages(&bytes, 200_000).await, expected);
        // Frames of no byte take memory too.
        assert_eq!(messages(&message(&[0; 2000]), 0).await, [None]);
    }

    /// An allocation of the announced length would end the process.
    #[tokio::test]
    async fn a_length_that_is_only_announced_takes_no_memory() {
        for length in [1 << 45, u64::MAX] {
            let mut bytes = vec![LONG];
            bytes.extend(length.to_be_bytes());
            bytes.extend([0; 100]);
            assert!(messages(&bytes, usize::MAX).await.is_empty());
        }
    }

    #[test]
    fn an_identity_is_found_among_the_properties() {
        let property = |name: &str, value: &[u8]| {
            let length = (value.len() as u32).to_be_bytes();
            [&[name.len() as u8], name.as_bytes(), &length, value].concat()
        };
        let dealer = property("Socket-Type", b"DEALER");
        let both = [dealer.clone(), property("identity", b"me")].concat();
        assert_eq!(identity_in(&both).as_deref(), Some(&b"me"[..]));
        assert_eq!(identity_in(&dealer).as_deref(), Some(&b""[..]));
        for length in [1, 5, both.len() - 1] {
            assert_eq!(identity_in(&both[..length]), None, "{length}");
        }
    }
}
