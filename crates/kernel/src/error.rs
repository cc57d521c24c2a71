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

/// Why a kernel could not do its work.
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
    }
}
