//! The socket between the engine and the process that runs the cells: frames with a length, typed messages.

use crate::profile::Profile;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use taper_evaluator::record::Times;

/// The largest message. A larger one is refused by both sides.
const LIMIT: usize = 64 << 20;

/// What the engine asks for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Loads libraries, the first of which is what all cells link to.
    Load {
        /// The libraries.
        libraries: Vec<PathBuf>,
    },
    /// Runs a cell.
    Run {
        /// The compiled cell.
        library: PathBuf,
        /// What the cell reads with `argument`.
        arguments: Vec<String>,
        /// Whether later cells link to it.
        is_global: bool,
        /// Variables to drop before.
        forget: Vec<String>,
    },
}

/// What the process reports.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The cell begins.
    Begin,
    /// The value of the cell's last expression.
    Value {
        /// The MIME type.
        mime_type: String,
        /// The representation.
        text: String,
    },
    /// What the lines of the cell took.
    Profile(Profile),
    /// A `?` failed.
    Failed(Fault),
    /// The thread of the cell panicked.
    Panic(Fault),
    /// A panic has ended the cell. Its place is not known here.
    Unwound(Fault),
    /// Another thread panicked.
    ThreadPanic {
        /// The name of the thread.
        thread: Option<String>,
        /// The panic.
        fault: Fault,
    },
    /// A library could not be loaded. The request has ended.
    NotLoaded(String),
    /// The request has ended.
    End(Times),
}

/// A panic or an error, in the file that was compiled.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) is_error: bool,
}

/// Writes a message.
pub(crate) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    if body.len() > LIMIT {
        return Err(io::Error::other("a message is longer than 64 MB"));
    }
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    // In one piece: another thread may write too.
    to.write_all(&[&length.to_le_bytes()[..], &body].concat())
}

/// Reads a message. Returns `None` at the end.
pub(crate) fn receive<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<M>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > LIMIT {
        return Err(io::Error::other("a message is longer than 64 MB"));
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let mut pipe = Vec::new();
        let text = "\u{1e}EVCXR_EXECUTION_COMPLETE\n".to_owned();
        send(&mut pipe, &Report::NotLoaded(text.clone())).expect("it is written");
        send(&mut pipe, &Report::Begin).expect("it is written");
        let mut pipe = &pipe[..];
        let Ok(Some(Report::NotLoaded(received))) = receive(&mut pipe) else {
            panic!("another message");
        };
        assert_eq!(received, text);
        assert!(matches!(receive(&mut pipe), Ok(Some(Report::Begin))));
        assert!(matches!(receive::<Report>(&mut pipe), Ok(None)));
    }

    #[test]
    fn a_message_that_is_too_long_is_refused() {
        let announced = u32::MAX.to_le_bytes();
        assert!(receive::<Report>(&mut &announced[..]).is_err());
    }
}
