//! The errors of this crate.

use std::path::PathBuf;
use std::{error, io};
use taper_evaluator::Evaluator;

/// An error of any type: of a session, or of an evaluator that could not be started.
pub type BoxError = Box<dyn error::Error + Send + Sync>;

/// The result of starting an evaluator.
pub type StartResult = std::result::Result<Box<dyn Evaluator>, BoxError>;

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// The signature scheme that the protocol's library implements.
pub(crate) const SIGNATURE_SCHEME: &str = "hmac-sha256";

/// Why a kernel or a spare kernel could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The connection file is not JSON, or a field is missing or has another type.
    #[error("{} is not a connection file: Jupyter writes it when it starts the kernel", path.display())]
    ParseConnectionFile {
        /// The file.
        path: PathBuf,
        /// The error of the JSON parser.
        source: serde_json::Error,
    },
    /// Jupyter asks the kernel to listen on an address that other machines can reach.
    #[error(
        "the kernel must not listen on {found}: anybody on the network could run code here. \
         Start Jupyter with `--KernelManager.ip=127.0.0.1`"
    )]
    Address {
        /// The address in the connection file.
        found: String,
    },
    /// Jupyter signs messages in a way that the kernel cannot verify.
    #[error(
        "signature scheme `{found}` is not supported: start Jupyter with \
         `--Session.signature_scheme={SIGNATURE_SCHEME}`"
    )]
    SignatureScheme {
        /// The scheme in the connection file.
        found: String,
    },
    /// Jupyter does not sign messages.
    #[error(
        "the connection file has no key: anybody on this machine could run code here. \
         Start Jupyter without an empty `Session.key`"
    )]
    NoKey,
    /// A port cannot be bound.
    #[error("cannot bind the {channel} port {port}")]
    Bind {
        /// The channel: `shell`, `iopub`, …
        channel: &'static str,
        /// Its port.
        port: u16,
        /// What the socket reported.
        source: io::Error,
    },
    /// A call of the operating system failed.
    #[error("cannot {operation}")]
    Io {
        /// What was to be done.
        operation: String,
        /// What the system reported.
        source: io::Error,
    },
    /// The session, or one of its dependencies, failed.
    #[error(transparent)]
    Session(BoxError),
    /// The spare kernel's folder or socket belongs to another user.
    #[error(
        "the spare kernel's {what} belongs to user {found}, expected user {expected}: set TAPER_CACHE \
         to a folder of your own"
    )]
    Owner {
        /// The folder with its path, or `socket` for the process at the other end.
        what: String,
        /// The user of this process.
        expected: u32,
        /// The user found.
        found: u32,
    },
    /// A process requested the spare kernel and ended before the spare served it.
    #[error("the process that asked for the spare kernel has ended")]
    ProxyEnded,
    /// A process requested the spare kernel with a message that is not a [launch](crate::spare).
    #[error("the request for the spare kernel cannot be read")]
    ParseLaunch(#[source] serde_json::Error),
    /// A message to the spare kernel announces a length above the limit.
    #[error("a message to the spare kernel has {found} bytes, expected at most {limit}")]
    MessageLength {
        /// The longest message that is accepted.
        limit: u64,
        /// The length that was announced.
        found: u64,
    },
    /// The spare kernel that serves a connection ended without an exit code.
    #[error("the kernel's process has ended unexpectedly")]
    SpareEnded,
}

impl Error {
    /// Returns a function that wraps an error of the system: `operation` follows "cannot".
    pub(crate) fn io<E: Into<io::Error>>(operation: impl Into<String>) -> impl FnOnce(E) -> Error {
        let operation = operation.into();
        |source| Error::Io {
            operation,
            source: source.into(),
        }
    }

    /// Wraps an error of the session or of the host.
    pub(crate) fn session(error: impl Into<BoxError>) -> Error {
        Error::Session(error.into())
    }
}

/// Returns the messages of an error and of its causes in one line, outermost first. Some libraries
/// repeat the cause in their own message: it is then left out.
pub(crate) fn chain(error: &(dyn error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    for cause in causes.map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_follow_the_message_and_are_not_repeated() {
        let refused = || io::Error::from(io::ErrorKind::AddrInUse);
        let error = Error::Bind {
            channel: "shell",
            port: 7,
            source: refused(),
        };
        assert_eq!(
            chain(&error),
            format!("cannot bind the shell port 7: {}", refused())
        );
        let error = Error::session(Error::io("open x")(refused()));
        assert_eq!(chain(&error), format!("cannot open x: {}", refused()));
    }
}
