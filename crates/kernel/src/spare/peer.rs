//! Checks that a folder or the other end of a socket belongs to the user of this process.

use crate::error::{Error, Result};
use rustix::process::geteuid;
use std::os::unix::net::UnixStream;

/// Returns an error unless `found`, the owner of `what`, is the user of this process.
pub(super) fn check(found: u32, what: impl FnOnce() -> String) -> Result<()> {
    let expected = geteuid().as_raw();
    if found == expected {
        return Ok(());
    }
    Err(Error::Owner {
        what: what(),
        expected,
        found,
    })
}

/// Returns an error unless the process at the other end of a socket belongs to the same user.
#[cfg(target_os = "linux")]
pub(super) fn check_stream(stream: &UnixStream) -> Result<()> {
    let peer = rustix::net::sockopt::socket_peercred(stream)
        .map_err(Error::io("ask for the user of the spare kernel's socket"))?;
    check(peer.uid.as_raw(), || "socket".to_owned())
}

/// Accepts every process: here only the permissions of the folder keep other users out.
#[cfg(not(target_os = "linux"))]
pub(super) fn check_stream(_stream: &UnixStream) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_user_is_refused() {
        let user = geteuid().as_raw();
        check(user, || unreachable!()).expect("it is the same user");
        let error = check(user + 1, || "socket".to_owned()).expect_err("it is another user");
        let Error::Owner {
            expected, found, ..
        } = error
        else {
            panic!("another error: {error}");
        };
        assert_eq!((expected, found), (user, user + 1));
    }

    #[test]
    fn a_process_of_the_same_user_is_accepted() {
        let (ours, _theirs) = UnixStream::pair().expect("two sockets");
        check_stream(&ours).expect("it is the same user");
    }
}
