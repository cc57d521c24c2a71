//! The messages between the proxy and the spare.
//!
//! The proxy sends a [`Launch`] together with its output streams, then [`INTERRUPT`] each time it is
//! interrupted. The spare sends [`SERVING`], and in the end [`ENDED`] and its exit code.

use crate::error::{Error, Result};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// From the spare: it serves the connection now.
pub(super) const SERVING: u8 = b'y';
/// From the spare: the kernel has ended; its exit code follows.
pub(super) const ENDED: u8 = b'e';
/// From the proxy: interrupt the cell.
pub(super) const INTERRUPT: u8 = b'i';

/// Standard output and standard error.
const STREAMS: usize = 2;

/// The longest message in bytes; no environment is as long.
const LIMIT: u64 = 1 << 24;

/// The connection file, folder and environment with which a kernel is started.
#[derive(Serialize, Deserialize)]
pub(super) struct Launch {
    // Not as paths and strings, which would have to be valid Unicode.
    pub(super) connection_file: OsString,
    pub(super) folder: OsString,
    pub(super) environment: Vec<(OsString, OsString)>,
}

impl Launch {
    /// Returns the launch of this process, whose connection file is `connection_file`.
    pub(super) fn of_this_process(connection_file: &Path) -> io::Result<Launch> {
        Ok(Launch {
            connection_file: std::path::absolute(connection_file)?.into(),
            folder: std::env::current_dir()?.into(),
            environment: std::env::vars_os().collect(),
        })
    }

    /// Returns the value of an environment variable.
    pub(super) fn variable(&self, name: &str) -> Option<OsString> {
        let mut variables = self.environment.iter();
        variables
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.clone())
    }

    /// Sends the launch with the output streams of this process.
    pub(super) fn send(&self, spare: &mut UnixStream) -> io::Result<()> {
        let message = serde_json::to_vec(self)?;
        send(
            spare,
            &message,
            [rustix::stdio::stdout(), rustix::stdio::stderr()],
        )
    }

    /// Receives a launch and the output streams that [`Launch::send`] sent.
    pub(super) fn receive(proxy: &mut UnixStream) -> Result<(Launch, [OwnedFd; STREAMS])> {
        let (message, streams) = receive(proxy)?;
        let launch = serde_json::from_slice(&message).map_err(Error::ParseLaunch)?;
        Ok((launch, streams))
    }
}

/// Sends a message and open files.
fn send(stream: &mut UnixStream, message: &[u8], files: [BorrowedFd; STREAMS]) -> io::Result<()> {
    let length = (message.len() as u64).to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(STREAMS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    let data = [IoSlice::new(&length)];
    sendmsg(&*stream, &data, &mut control, SendFlags::empty())?;
    stream.write_all(message)
}

/// Receives the message and the files that [`send`] sent; the files now belong to this process.
fn receive(stream: &mut UnixStream) -> Result<(Vec<u8>, [OwnedFd; STREAMS])> {
    let failed = || Error::io("receive the request for the spare kernel");
    let mut length = [0; 8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(STREAMS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut data = [IoSliceMut::new(&mut length)];
    let read = recvmsg(&*stream, &mut data, &mut control, RecvFlags::empty())
        .map_err(|error| failed()(io::Error::from(error)))?;
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            files.extend(received);
        }
    }
    let files = files.try_into().map_err(|_| Error::ProxyEnded)?;
    stream
        .read_exact(&mut length[read.bytes..])
        .map_err(failed())?;
    let found = u64::from_le_bytes(length);
    if found > LIMIT {
        return Err(Error::MessageLength {
            limit: LIMIT,
            found,
        });
    }
    let mut message = vec![0; found as usize];
    stream.read_exact(&mut message).map_err(failed())?;
    Ok((message, files))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn files_and_message_arrive() {
        let (mut proxy, mut spare) = UnixStream::pair().expect("two sockets");
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let message = vec![7; 300_000];
        let sent = message.clone();
        let sender = std::thread::spawn(move || {
            send(&mut proxy, &sent, [writer.as_fd(), writer.as_fd()]).expect("it is sent");
        });
        let (received, [first, _second]) = receive(&mut spare).expect("it arrives");
        sender.join().expect("the sender ends");
        assert_eq!(received, message);
        std::fs::File::from(first)
            .write_all(b"x")
            .expect("it is open");
        let mut byte = [0];
        reader.read_exact(&mut byte).expect("it is the same pipe");
        assert_eq!(&byte, b"x");
    }

    #[test]
    fn names_that_are_not_unicode_arrive() {
        use std::os::unix::ffi::OsStringExt;
        let odd = OsString::from_vec(b"/a\xff".to_vec());
        let (mut proxy, mut spare) = UnixStream::pair().expect("two sockets");
        let launch = Launch {
            connection_file: odd.clone(),
            folder: odd.clone(),
            environment: vec![("TEA".into(), odd.clone())],
        };
        launch.send(&mut proxy).expect("it is sent");
        let (received, _streams) = Launch::receive(&mut spare).expect("it arrives");
        assert_eq!(received.folder, odd);
        assert_eq!(received.variable("TEA"), Some(odd));
    }

    #[test]
    fn a_proxy_that_ends_is_an_error() {
        let (proxy, mut spare) = UnixStream::pair().expect("two sockets");
        drop(proxy);
        assert!(matches!(receive(&mut spare), Err(Error::ProxyEnded)));
    }

    #[test]
    fn a_message_that_is_too_long_is_refused() {
        let (mut proxy, mut spare) = UnixStream::pair().expect("two sockets");
        let (_reader, writer) = io::pipe().expect("a pipe");
        // The length is not followed by as many bytes.
        let files = [writer.as_fd(), writer.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(STREAMS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&files));
        let length = u64::MAX.to_le_bytes();
        let data = [IoSlice::new(&length)];
        sendmsg(&proxy, &data, &mut control, SendFlags::empty()).expect("it is sent");
        let received = receive(&mut spare);
        assert!(matches!(
            received,
            Err(Error::MessageLength {
                found: u64::MAX,
                ..
            })
        ));
        proxy.write_all(b"x").expect("the socket is open");
    }
}
