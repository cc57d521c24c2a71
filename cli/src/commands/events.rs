//! `taper events`: runs a session behind two pipes, for tests and for programs without Jupyter.
//!
//! Each line of standard input is a request, `{"code": "…"}`; each line of standard output is an event
//! of the cell, the last one `{"event": "done", "ok": true}`. A request may ask for an interrupt some
//! milliseconds after its cell began: `{"code": "loop {}", "interrupt_after": 500}`; or as soon as
//! the cell has printed some text: `{"code": "…", "interrupt_at": "text"}`. A cell that reads standard
//! input receives `"input"` of the request, then the end of the file. The request `{"interrupt": true}`
//! stops the cell that is running when the request arrives. A request with the id of a cell, `"cell": "a"`, runs that cell of a
//! notebook, for `:stale`. What a thread of that cell does later is an event with the number of the request, `"late": 1`, at any
//! time.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use taper_evaluator::{CellName, Evaluator, Event, Front, Interrupt, Late};
use taper_host::process;
use taper_host::progress::Console;
use taper_session::workspace::Workspace;

#[derive(Deserialize)]
struct Request {
    #[serde(default)]
    code: String,
    #[serde(default)]
    interrupt: bool,
    interrupt_after: Option<u64>,
    interrupt_at: Option<String>,
    input: Option<String>,
    cell: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run plain Rust while the image is built, as the kernel does
    #[arg(long)]
    defer: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let work = Workspace::create()?;
    // SAFETY: `main` has started no thread yet.
    unsafe { work.enter() };
    let folder = work.path();
    process::when_parent_ends(move || {
        Workspace::remove(&folder);
        std::process::exit(1);
    });
    let mut session = match arguments.defer {
        true => taper_session::start_or_defer(work)?,
        false => taper_session::start_session(work, &mut Console::new())?,
    };
    session.set_late(Arc::new(LateEvents));
    for (number, request) in (1..).zip(requests(session.interrupter())) {
        let request = request?;
        let cell = request.cell.map(|id| CellName {
            id: Some(id),
            number,
        });
        if let Some(milliseconds) = request.interrupt_after {
            let interrupter = session.interrupter();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(milliseconds));
                interrupter.interrupt();
            });
        }
        let mut pipe = Pipe {
            input: request.input,
            interrupt_at: request.interrupt_at,
            interrupter: session.interrupter(),
        };
        let ok = session
            .execute(&request.code, cell.as_ref(), &mut pipe)
            .is_ok();
        write(&serde_json::json!({ "event": "done", "ok": ok }))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the requests on a thread, so that an interrupt reaches a cell that runs.
fn requests(interrupter: Arc<dyn Interrupt>) -> Receiver<Result<Request>> {
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            let request = line.context("reading a request").and_then(|line| {
                serde_json::from_str(&line).context("a request is one line of JSON")
            });
            match request {
                Ok(Request {
                    interrupt: true, ..
                }) => interrupter.interrupt(),
                // The receiver has been dropped if an earlier request was invalid.
                request => drop(sender.send(request)),
            }
        }
    });
    requests
}

/// Writes what threads do after their cell.
struct LateEvents;

impl Late for LateEvents {
    fn event(&self, cell: &CellName, event: Event) {
        let event = serde_json::to_value(event).map(|mut event| {
            event["late"] = cell.number.into();
            event
        });
        // If the reader has closed the pipe, it needs no more events.
        let _ = event.map(|event| write(&event));
    }
}

struct Pipe {
    input: Option<String>,
    interrupt_at: Option<String>,
    interrupter: Arc<dyn Interrupt>,
}

impl Front for Pipe {
    fn event(&mut self, event: Event) {
        // If the reader has closed the pipe, it needs no more events.
        let _ = write(&event);
        if let (Event::Text { text, .. }, Some(wanted)) = (&event, &self.interrupt_at)
            && text.contains(wanted)
        {
            self.interrupter.interrupt();
        }
    }

    fn input(&mut self, _prompt: &str, _password: bool) -> Option<String> {
        self.input.take()
    }
}

fn write(value: &impl serde::Serialize) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    serde_json::to_writer(&mut stdout, value)?;
    stdout.write_all(b"\n")?;
    Ok(stdout.flush()?)
}
