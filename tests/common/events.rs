//! `taper events`: cells in, events out.

use super::{one_of, taper};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::ops::{Deref, DerefMut};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The limit includes building the warm image, which the first start does.
const TO_START: Duration = Duration::from_secs(900);
/// The limit for a cell: ten times the time of the slowest cell of these tests.
const FOR_A_CELL: Duration = Duration::from_secs(300);

/// A session, `taper events`. The tests of a file share two, each used by one test at a time; each test defines the
/// variables it uses, since another test may have ended the process in which they live.
pub(crate) struct Events {
    process: Child,
    requests: ChildStdin,
    answers: Receiver<Value>,
}

/// The events of a cell; adjacent texts of one stream are joined.
pub(crate) type Ran = Vec<Value>;

static SHARED: [Mutex<Option<Events>>; 2] = [Mutex::new(None), Mutex::new(None)];

/// Exclusive use of a shared session. A test that fails drops the session, and the next test starts another.
pub(crate) struct Borrowed {
    session: Option<Events>,
    place: MutexGuard<'static, Option<Events>>,
}

pub(crate) fn session() -> Borrowed {
    let mut place = one_of(&SHARED);
    let session = Some(place.take().unwrap_or_else(Events::start));
    Borrowed { session, place }
}

/// Starts a session of its own for a test that would spoil the shared session.
pub(crate) fn own_session() -> Events {
    Events::start()
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            *self.place = self.session.take();
        }
    }
}

impl Deref for Borrowed {
    type Target = Events;

    fn deref(&self) -> &Events {
        self.session.as_ref().expect(RETURNED)
    }
}

impl DerefMut for Borrowed {
    fn deref_mut(&mut self) -> &mut Events {
        self.session.as_mut().expect(RETURNED)
    }
}

const RETURNED: &str = "the session is returned only at the end";

impl Events {
    fn start() -> Events {
        let mut process = taper(&["events"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stdout = BufReader::new(process.stdout.take().expect("it is piped"));
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ =
                    sender.send(serde_json::from_str(&line).expect("an event is a line of JSON"));
            }
        });
        let requests = process.stdin.take().expect("it is piped");
        let mut session = Events {
            process,
            requests,
            answers,
        };
        // In an earlier version, the first `?` of a session changed how its value was shown.
        session.send(&json!({ "code": "ones(2)" }));
        assert_eq!(
            session.next(Instant::now() + TO_START),
            value("[1., 1.]\nTensor[[2], f32, cpu]")
        );
        assert_eq!(
            session.next(Instant::now() + FOR_A_CELL),
            json!({ "event": "done", "ok": true })
        );
        session
    }

    /// Returns the most memory that the process of the session has ever held, in megabytes.
    pub(crate) fn peak_memory(&self) -> f64 {
        let file = format!("/proc/{}/status", self.process.id());
        let status = std::fs::read_to_string(file).expect("the session lives");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .expect("Linux reports the peak");
        let kilobytes = line.trim().trim_end_matches("kB").trim().parse::<f64>();
        kilobytes.expect("a number") / 1000.0
    }

    /// Runs a cell and returns its events.
    pub(crate) fn run(&mut self, code: &str) -> Ran {
        self.run_with(json!({ "code": code }), |_| {})
    }

    /// Runs the cell of a request; `seen` receives each event when it arrives.
    pub(crate) fn run_with(&mut self, request: Value, mut seen: impl FnMut(&Value)) -> Ran {
        self.send(&request);
        let deadline = Instant::now() + FOR_A_CELL;
        let mut ran = Ran::new();
        loop {
            let event = self.next(deadline);
            if event["event"] == "done" {
                let failed = ran.last().is_some_and(|last| last["event"] == "error");
                assert_eq!(event["ok"], !failed, "an error is the last event: {ran:#?}");
                return ran;
            }
            seen(&event);
            add(&mut ran, event);
        }
    }

    /// Returns the next event, while no cell runs.
    pub(crate) fn event(&mut self) -> Value {
        self.next(Instant::now() + FOR_A_CELL)
    }

    fn send(&mut self, request: &Value) {
        writeln!(self.requests, "{request}").expect("the session listens");
    }

    fn next(&mut self, deadline: Instant) -> Value {
        let left = deadline.saturating_duration_since(Instant::now());
        self.answers
            .recv_timeout(left)
            .expect("the session answers in time")
    }
}

/// Kills the session's process, even if a cell hangs in it. The process of the cells notices that and exits.
impl Drop for Events {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Joins a text to the previous one, and removes the colours of a traceback.
fn add(ran: &mut Ran, mut event: Value) {
    if let (Some(last), "text") = (ran.last_mut(), event["event"].as_str().unwrap_or_default())
        && last["event"] == "text"
        && last["stream"] == event["stream"]
        && last["late"] == event["late"]
    {
        let joined = format!("{}{}", words(&last["text"]), words(&event["text"]));
        last["text"] = joined.into();
        return;
    }
    let traceback = event.get_mut("traceback").and_then(Value::as_array_mut);
    for line in traceback.into_iter().flatten() {
        *line = without_colours(words(line)).into();
    }
    ran.push(event);
}

pub(crate) fn words(value: &Value) -> &str {
    value.as_str().expect("it is text")
}

pub(crate) fn without_colours(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        plain + part.split_once('m').map_or("", |(_, rest)| rest)
    })
}

/// Returns the event of text on standard output.
pub(crate) fn out(text: &str) -> Value {
    json!({ "event": "text", "stream": "stdout", "text": text })
}

/// Returns the event of text on standard error.
pub(crate) fn err(text: &str) -> Value {
    json!({ "event": "text", "stream": "stderr", "text": text })
}

/// Returns the event of a bundle that is shown with `display`.
pub(crate) fn display(data: Value) -> Value {
    json!({ "event": "display", "data": data, "metadata": {}, "display_id": null })
}

/// Returns the event of a value that is shown as text.
pub(crate) fn value(text: &str) -> Value {
    result(json!({ "text/plain": text }))
}

/// Returns the event of the value of a cell.
pub(crate) fn result(data: Value) -> Value {
    json!({ "event": "result", "data": data, "metadata": {} })
}

/// Returns the event of an error; `line` is 0 if the error has no position. `quote` contains the lines of the
/// traceback below name and message.
pub(crate) fn error(name: &str, message: &str, line: usize, quote: &[&str]) -> Value {
    let summary = format!("{name}: {message}");
    let traceback: Vec<&str> = summary.lines().chain(quote.iter().copied()).collect();
    let location = (line > 0).then(|| json!({ "line": line, "column": null }));
    json!({ "event": "error", "name": name, "message": message, "traceback": traceback, "location": location })
}

/// Returns the event of a compile error with its whole traceback.
pub(crate) fn compile_error(
    message: &str,
    (line, column): (usize, usize),
    traceback: &str,
) -> Value {
    let location = json!({ "line": line, "column": column });
    let traceback: Vec<&str> = traceback.lines().collect();
    json!({
        "event": "error", "name": "CompileError", "message": message,
        "traceback": traceback, "location": location,
    })
}
