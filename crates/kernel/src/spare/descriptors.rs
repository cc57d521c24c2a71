//! One message with two open files, over a local socket.

use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

const FILES: usize = 2;
const BYTES: u32 = (FILES * size_of::<RawFd>()) as u32;

/// Room for the two descriptors as the system wants them, aligned as it wants it.
type Control = [u64; 8];

/// Sends the message; the other side gets the files as its own.
pub fn send(stream: &mut UnixStream, message: &[u8], files: [RawFd; FILES]) -> Result<()> {
    let length = (message.len() as u64).to_le_bytes();
    with_header(length.to_vec().as_mut_slice(), |header| {
        // SAFETY: the header has room for one control message of this size.
        unsafe {
            let control = libc::CMSG_FIRSTHDR(header);
            (*control).cmsg_level = libc::SOL_SOCKET;
            (*control).cmsg_type = libc::SCM_RIGHTS;
            (*control).cmsg_len = libc::CMSG_LEN(BYTES) as _;
            std::ptr::copy_nonoverlapping(
                files.as_ptr().cast::<u8>(),
                libc::CMSG_DATA(control),
                BYTES as usize,
            );
            libc::sendmsg(stream.as_raw_fd(), header, 0)
        }
    })
    .context("handing over to the spare kernel")?;
    stream.write_all(message)?;
    Ok(())
}

/// Takes what [`send`] sent.
pub fn receive(stream: &mut UnixStream) -> Result<(Vec<u8>, [OwnedFd; FILES])> {
    let mut length = [0; 8];
    let mut files = [-1; FILES];
    let read = with_header(&mut length, |header| {
        // SAFETY: the header has room for what comes; it is read only where the system says that it
        // put two descriptors.
        unsafe {
            let read = libc::recvmsg(stream.as_raw_fd(), header, 0);
            let control = libc::CMSG_FIRSTHDR(header);
            if !control.is_null()
                && (*control).cmsg_type == libc::SCM_RIGHTS
                && (*control).cmsg_len as usize == libc::CMSG_LEN(BYTES) as usize
            {
                std::ptr::copy_nonoverlapping(
                    libc::CMSG_DATA(control),
                    files.as_mut_ptr().cast::<u8>(),
                    BYTES as usize,
                );
            }
            read
        }
    })?;
    if read == 0 || files.contains(&-1) {
        bail!("whoever wanted the spare kernel has gone");
    }
    // SAFETY: the system has just made these two for us.
    let files = files.map(|file| unsafe { OwnedFd::from_raw_fd(file) });
    stream.read_exact(&mut length[read..])?;
    let length = u64::from_le_bytes(length);
    ensure!(length < 1 << 24, "a message of {length} bytes");
    let mut message = vec![0; length as usize];
    stream.read_exact(&mut message)?;
    Ok((message, files))
}

/// Calls the system with a header for `bytes` and two descriptors.
fn with_header(
    bytes: &mut [u8],
    call: impl FnOnce(*mut libc::msghdr) -> isize,
) -> std::io::Result<usize> {
    let mut control: Control = [0; 8];
    let mut part = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: all-zero is a valid value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    // SAFETY: only computes.
    header.msg_controllen = unsafe { libc::CMSG_SPACE(BYTES) } as _;
    let done = call(&mut header);
    usize::try_from(done).map_err(|_| std::io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_message_arrive() {
        let (mut door, mut spare) = UnixStream::pair().expect("two sockets");
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let message = vec![7; 300_000];
        let sent = message.clone();
        let sender = std::thread::spawn(move || {
            send(&mut door, &sent, [writer.as_raw_fd(), writer.as_raw_fd()]).expect("it is sent");
        });
        let (received, [first, _second]) = receive(&mut spare).expect("it arrives");
        sender.join().expect("the sender is done");
        assert_eq!(received, message);
        std::fs::File::from(first)
            .write_all(b"x")
            .expect("it is open");
        let mut byte = [0];
        reader.read_exact(&mut byte).expect("it is the same pipe");
        assert_eq!(&byte, b"x");
    }

    #[test]
    fn a_door_that_goes_is_an_error() {
        let (door, mut spare) = UnixStream::pair().expect("two sockets");
        drop(door);
        assert!(receive(&mut spare).is_err());
    }
}
