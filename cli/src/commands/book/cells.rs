//! The evaluator of a page: `taper events` in a process of its own, because an evaluator contains a whole
//! compiler, and because ending the process is how the page restarts.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use taper_evaluator::{CellError, CellName, Evaluator, Event, Front, Interrupt};
use taper_host::mutex::lock;
use taper_host::process::{self, wait_within};

/// The positions of a slider: a page has no widgets, so `interact` computes what it shows at all of them.
const FRAMES: &str = "15";

/// How long a process may take to remove its files when it ends.
const TO_END: Duration = Duration::from_secs(10);

/// A process that evaluates the cells of a chapter. It starts with the first cell.
pub(super) struct Cells {
    /// The folder against which relative paths in cells are resolved.
    folder: PathBuf,
    process: Option<Process>,
    requests: Arc<Requests>,
}

struct Process {
    child: Child,
    events: BufReader<ChildStdout>,
}

/// The standard input of the process.
#[derive(Default)]
struct Requests(Mutex<Option<ChildStdin>>);

impl Cells {
    /// Returns the evaluator of a notebook in `folder`.
    pub(super) fn new(folder: &Path) -> Cells {
        Cells {
            folder: folder.to_owned(),
            process: None,
            requests: Arc::default(),
        }
    }

    fn start(&self) -> Result<Process> {
        let mut child = Command::new(process::program()?)
            .args(["events", "--defer"])
            .current_dir(&self.folder)
            .env("TAPER_FRAMES", FRAMES)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C in the terminal is for the server; this process notices that its parent has ended.
            .process_group(0)
            .spawn()
            .context("starting the process of the cells")?;
        let events = BufReader::new(child.stdout.take().context("a pipe")?);
        self.requests.connect(child.stdin.take());
        Ok(Process { child, events })
    }

    /// Sends a cell, and passes its events on until it is done; returns whether it succeeded.
    fn run(&mut self, code: &str, front: &mut dyn Front) -> Result<Result<(), CellError>> {
        if self.process.is_none() {
            self.process = Some(self.start()?);
        }
        let process = self.process.as_mut().context("it was started")?;
        self.requests.send(&json!({"code": code}))?;
        let mut outcome = Ok(());
        let mut line = String::new();
        loop {
            line.clear();
            if process.events.read_line(&mut line)? == 0 {
                anyhow::bail!("the process of the cells has ended; variables are lost");
            }
            let value: Value = serde_json::from_str(&line)?;
            if value["event"] == "done" {
                return Ok(outcome);
            }
            let event: Event = serde_json::from_value(value)?;
            if let Event::Error(error) = &event {
                outcome = Err(error.clone());
            }
            front.event(event);
        }
    }

    fn end(&mut self) {
        self.requests.connect(None);
        if let Some(Process { mut child, .. }) = self.process.take() {
            // Its input is closed, so it removes its files and ends.
            std::thread::spawn(move || wait_within(&mut child, TO_END));
        }
    }
}

impl Evaluator for Cells {
    fn execute(
        &mut self,
        code: &str,
        _cell: Option<&CellName>,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        self.run(code, front).unwrap_or_else(|error| {
            self.end();
            let message = format!("{error:#}");
            let error = CellError {
                name: "KernelError".into(),
                traceback: vec![message.clone()],
                message,
                location: None,
            };
            front.event(Event::Error(error.clone()));
            Err(error)
        })
    }

    // The page calls none of the next two methods.
    fn interrupter(&self) -> Arc<dyn Interrupt> {
        self.requests.clone()
    }
}

impl Drop for Cells {
    fn drop(&mut self) {
        self.end();
    }
}

impl Requests {
    fn connect(&self, stdin: Option<ChildStdin>) {
        *lock(&self.0) = stdin;
    }

    fn send(&self, request: &Value) -> Result<()> {
        let mut stdin = lock(&self.0);
        let stdin = stdin
            .as_mut()
            .context("the process of the cells has ended")?;
        writeln!(stdin, "{request}").context("sending a cell to its process")
    }
}

impl Interrupt for Requests {
    fn interrupt(&self) {
        // Without a process, no cell runs.
        let _ = self.send(&json!({"interrupt": true}));
    }
}
