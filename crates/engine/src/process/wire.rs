//! The socket between the engine and the process that runs the cells: frames with a length, typed messages.

use crate::profile::Profile;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use taper_evaluator::run::Times;
use taper_evaluator::{Event, Stream};

/// The largest message. A larger one is refused by both sides.
const LIMIT: usize = 1 << 30;

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
        /// The number of the evaluation.
        cell: u32,
        /// The compiled cell.
        library: PathBuf,
        /// What the cell reads with `argument`.
        arguments: Vec<String>,
        /// Whether later cells link to it.
        is_global: bool,
        /// Variables to drop before.
        forget: Vec<String>,
    },
    /// Answers [`Report::Input`].
    Answer(Answer),
    /// Ends the wait of the cell that runs, if it waits for a future, because it was asked to stop.
    StopWaiting,
    /// Leaves the cell that runs to its thread, if it is this one: another thread answers further requests.
    Leave {
        /// The number of the evaluation.
        cell: u32,
    },
}

impl Request {
    /// Returns the number of the evaluation that it runs.
    pub(crate) fn cell(&self) -> Option<u32> {
        match self {
            Request::Run { cell, .. } => Some(*cell),
            _ => None,
        }
    }
}

/// The answer to a cell that reads a line of standard input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The user's line.
    Line(String),
    /// There is no user to ask: the end of the file.
    End,
    /// The user has interrupted the cell instead.
    Interrupted,
}

/// What the process reports.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The cell begins.
    Begin,
    /// The cell has printed or shown something.
    Shown(Event),
    /// The cell reads a line of standard input, and waits for [`Request::Answer`].
    Input,
    /// The value of the cell's last expression.
    Value {
        /// The MIME type.
        mime_type: String,
        /// The representation.
        text: String,
    },
    /// What the lines of the cell took.
    Profile(Profile),
    /// A package explains the `?` that is about to fail.
    Explained(Fault),
    /// A `?` failed. The message is empty if a package has explained it.
    Failed(Fault),
    /// The thread of the cell panicked.
    Panic(Fault),
    /// A panic has ended the cell. Its place is not known here.
    Unwound(Fault),
    /// Another thread panicked.
    ThreadPanic {
        /// The cell to which the thread belongs, if it belongs to one.
        cell: Option<u32>,
        /// The name of the thread.
        thread: Option<String>,
        /// The panic.
        fault: Fault,
    },
    /// A library could not be loaded. The request has ended.
    NotLoaded(String),
    /// The request has ended.
    End(Times),
    /// The cell was left to its thread: see [`Request::Leave`]. The request has ended.
    Left {
        /// The variables that the cell has taken, and which it did not put back.
        taken: Vec<String>,
    },
}

/// What the process sends.
#[derive(Debug)]
pub(crate) enum Message {
    /// A report.
    Report(Report),
    /// What a package reports: an event, or the explanation of a failure.
    Package {
        /// The cell to which the thread belongs, unless it is the one that runs.
        cell: Option<u32>,
        /// The report.
        report: Report,
    },
    /// What a thread has printed after its cell.
    Printed {
        /// The cell to which the thread belongs.
        cell: u32,
        /// Where it was printed.
        stream: Stream,
        /// What was printed.
        bytes: Vec<u8>,
    },
}

/// A panic or an error, in the file that was compiled.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) is_error: bool,
}

/// The first bytes of [`Message::Printed`] and [`Message::Package`], which no JSON begins with.
const PRINTED: u8 = 0;
const PACKAGE: u8 = 1;

/// What a package writes, as JSON.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum OfPackage {
    /// A `?` is about to fail.
    Failed {
        message: String,
        file: String,
        line: usize,
    },
    #[serde(untagged)]
    Shown(Event),
}

impl From<OfPackage> for Report {
    fn from(written: OfPackage) -> Report {
        match written {
            OfPackage::Shown(event) => Report::Shown(event),
            OfPackage::Failed {
                message,
                file,
                line,
            } => Report::Explained(Fault {
                message,
                file,
                line,
                is_error: false,
            }),
        }
    }
}

/// Writes a message.
pub(crate) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    send_body(to, &serde_json::to_vec(message)?)
}

/// Writes what a thread has printed after its cell.
pub(crate) fn send_printed(
    to: &mut impl Write,
    cell: u32,
    stream: Stream,
    bytes: &[u8],
) -> io::Result<()> {
    let head = [PRINTED, u8::from(stream == Stream::Stderr)];
    send_body(to, &[&head[..], &cell.to_le_bytes(), bytes].concat())
}

/// Writes what a package reports. `cell` is the one to which the thread belongs, unless that runs.
pub(crate) fn send_of_package(
    to: &mut impl Write,
    cell: Option<u32>,
    json: &[u8],
) -> io::Result<()> {
    let head = [PACKAGE, u8::from(cell.is_some())];
    let cell = cell.unwrap_or_default().to_le_bytes();
    send_body(to, &[&head[..], &cell, json].concat())
}

fn send_body(to: &mut impl Write, body: &[u8]) -> io::Result<()> {
    if body.len() > LIMIT {
        return Err(io::Error::other("a message is longer than 1 GB"));
    }
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    // In one piece: another thread may write too.
    to.write_all(&[&length.to_le_bytes()[..], body].concat())
}

/// Reads a message of the process. Returns `None` at the end.
pub(crate) fn receive_message(from: &mut impl Read) -> io::Result<Option<Message>> {
    let Some(body) = receive_body(from)? else {
        return Ok(None);
    };
    Ok(Some(match body.split_first_chunk() {
        Some((&[PRINTED, is_error, a, b, c, d], bytes)) => Message::Printed {
            cell: u32::from_le_bytes([a, b, c, d]),
            stream: match is_error {
                0 => Stream::Stdout,
                _ => Stream::Stderr,
            },
            bytes: bytes.to_vec(),
        },
        Some((&[PACKAGE, has_cell, a, b, c, d], json)) => Message::Package {
            cell: (has_cell != 0).then(|| u32::from_le_bytes([a, b, c, d])),
            report: serde_json::from_slice::<OfPackage>(json)?.into(),
        },
        _ => Message::Report(serde_json::from_slice(&body)?),
    }))
}

/// Reads a request. Returns `None` at the end.
pub(crate) fn receive<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<M>> {
    let body = receive_body(from)?;
    Ok(body.map(|body| serde_json::from_slice(&body)).transpose()?)
}

fn receive_body(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > LIMIT {
        return Err(io::Error::other("a message is longer than 1 GB"));
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(Some(body))
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
    fn what_is_printed_arrives_byte_by_byte() {
        let mut pipe = Vec::new();
        let printed = b"{\"Begin\"} \xff\0\n";
        send_printed(&mut pipe, 70_000, Stream::Stderr, printed).expect("it is written");
        send(&mut pipe, &Report::Begin).expect("it is written");
        let mut pipe = &pipe[..];
        let Ok(Some(Message::Printed {
            cell: 70_000,
            stream: Stream::Stderr,
            bytes,
        })) = receive_message(&mut pipe)
        else {
            panic!("another message");
        };
        assert_eq!(bytes, printed);
        let next = receive_message(&mut pipe);
        assert!(matches!(next, Ok(Some(Message::Report(Report::Begin)))));
        assert!(matches!(receive_message(&mut pipe), Ok(None)));
    }

    #[test]
    fn an_event_of_a_package_is_passed_on_as_it_is() {
        let mut pipe = Vec::new();
        let shown = br#"{"event":"display","data":{"text/plain":"a"},"display_id":"b"}"#;
        let failed = br#"{"event":"failed","message":"no GPU","file":"c.rs","line":3}"#;
        send_of_package(&mut pipe, Some(7), shown).expect("it is written");
        send_of_package(&mut pipe, None, failed).expect("it is written");
        let mut pipe = &pipe[..];
        let Ok(Some(Message::Package {
            cell: Some(7),
            report:
                Report::Shown(Event::Display {
                    display_id: Some(id),
                    ..
                }),
        })) = receive_message(&mut pipe)
        else {
            panic!("another message");
        };
        assert_eq!(id, "b");
        let Ok(Some(Message::Package {
            cell: None,
            report: Report::Explained(fault),
        })) = receive_message(&mut pipe)
        else {
            panic!("another message");
        };
        assert_eq!((&*fault.message, fault.line), ("no GPU", 3));
    }

    #[test]
    fn a_message_that_is_too_long_is_refused() {
        let announced = u32::MAX.to_le_bytes();
        assert!(receive::<Report>(&mut &announced[..]).is_err());
    }
}
