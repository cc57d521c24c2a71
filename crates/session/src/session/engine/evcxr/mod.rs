//! The released evcxr as an engine, through its public interface.
//!
//! It finds the image's packages compiled in the session's folder, and loads `taper` with `:dep`, as in
//! `evcxr_jupyter`. What it cannot do is in the book: "Where the engines differ".

mod errors;

use super::DOES_NOT_START;
use super::interface::{Code, Engine, Ran, Running, Start};
use crate::cells;
use crate::session::interrupt::Cells;
use crate::{image, workspace};
use anyhow::{Context, Result, anyhow, bail};
use crossbeam_channel::{Receiver, Sender, bounded, select, unbounded};
use evcxr::{CommandContext, EvalCallbacks, EvalContext, EvalContextOutputs, EvalOutputs};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::panic::resume_unwind;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use taper_engine::Answer;
use taper_evaluator::evaluator::{Completion, Completions, Editor};
use taper_evaluator::event::{Event, MimeBundle, Stream};
use taper_host::error::OnFile as _;
use taper_host::mutex::lock;
use taper_host::toolchain;

/// The stack of evcxr's threads in bytes: rust-analyzer recurses deeply into types.
const STACK: usize = 64 << 20;

/// How long to wait for what a cell has printed last: evcxr reads its errors in another thread.
const QUIET: Duration = Duration::from_millis(20);

/// The variable with the folders in which the dynamic loader looks for libraries.
const LIBRARY_PATH: &str = if cfg!(target_os = "macos") {
    "DYLD_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// One evcxr context.
pub(super) struct Evcxr {
    /// The dependency on the crate `taper`, as a line of a manifest.
    taper: String,
    context: Arc<Mutex<CommandContext>>,
    outputs: EvalContextOutputs,
}

impl Evcxr {
    /// Starts evcxr in the folder that the variable `EVCXR_TMPDIR` names.
    pub(super) fn start(start: &Start) -> Result<Evcxr> {
        // evcxr reads the arguments of this process, and would panic.
        if let Some(odd) = std::env::args_os().find(|argument| argument.to_str().is_none()) {
            bail!("{odd:?} is not valid Unicode. Change to its folder, then name the file alone.");
        }
        image::complete(start.work)?;
        let lock = start.work.join("Cargo.lock");
        let locked = std::fs::read(&lock).on_file("read", &lock)?;
        let mut process = Command::new(taper_host::process::program()?);
        cells::limit()?;
        cells::prepare(&mut process);
        process.env(LIBRARY_PATH, library_path()?);
        let started = on_large_stack(|| EvalContext::with_subprocess_command(process));
        let (context, outputs) = started.map_err(|error| anyhow!("{DOES_NOT_START}: {error}"))?;
        // evcxr starts with a crate without dependencies, for which cargo empties the lock file.
        std::fs::write(&lock, locked).on_file("write", &lock)?;
        Ok(Evcxr {
            taper: workspace::dependency(&start.taper, &start.features),
            context: Arc::new(Mutex::new(CommandContext::with_eval_context(context))),
            outputs,
        })
    }
}

impl Engine for Evcxr {
    /// The cell sets the linker: if evcxr chose one from the PATH, all packages would be compiled again.
    fn first_cell(&self, import: &str) -> String {
        format!(":linker system\n:dep {}\n{import}", self.taper)
    }

    fn execute(&mut self, code: Code, running: &mut Running) -> Ran {
        let (requests, requested) = unbounded();
        let (sender, done) = bounded(1);
        let Evcxr {
            context, outputs, ..
        } = self;
        running.begun();
        let evaluate = || {
            let mut callbacks = EvalCallbacks {
                input_reader: &|request| ask(&requests, request.prompt, request.is_password),
            };
            let code = indented(code.text);
            let _ = sender.send(lock(context).execute_with_callbacks(&code, &mut callbacks));
        };
        let outcome = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, evaluate);
            let thread = thread.map_err(|error| error.to_string())?;
            let outcome = listen_until_done(outputs, &requested, &done, running);
            match thread.join() {
                Ok(()) => outcome.unwrap_or_else(|| Err("evcxr ended early".into())),
                Err(panic) => resume_unwind(panic),
            }
        });
        let mut ran = Ran::default();
        match outcome.map(bundle_of) {
            Ok(data) if data.is_empty() => {}
            Ok(data) => running.event(Event::Result {
                data,
                metadata: Map::new(),
            }),
            Err(error) => ran.error = Some(errors::translate(error)),
        }
        ran
    }

    /// After evcxr's `:restart`, the next cell would still look for the variables of the old process.
    fn end_process(&mut self) {
        let _ = lock(&self.context).execute("std::process::exit(0);");
        for stream in [&self.outputs.stdout, &self.outputs.stderr] {
            stream.try_iter().for_each(drop);
        }
    }

    fn variables(&self) -> Vec<(String, String)> {
        let context = lock(&self.context);
        let variables = context.variables_and_types();
        variables
            .map(|(name, kind)| (name.to_owned(), kind.to_owned()))
            .collect()
    }

    fn editor(&self) -> Arc<dyn Editor> {
        Arc::new(EvcxrEditor(self.context.clone()))
    }

    fn type_of(&mut self, expression: &str) -> Option<String> {
        let context = lock(&self.context);
        let mut known = context.variables_and_types();
        let (_, kind) = known.find(|(name, _)| *name == expression)?;
        Some(kind.to_owned())
    }

    fn cells(&self) -> Box<dyn Cells> {
        Box::new(Process(lock(&self.context).process_handle()))
    }
}

/// Asks evcxr, which answers when no cell runs.
struct EvcxrEditor(Arc<Mutex<CommandContext>>);

impl Editor for EvcxrEditor {
    fn complete(&self, code: &str, cursor: usize) -> Completions {
        let complete = || lock(&self.0).completions(code, cursor);
        let Ok(found) = on_large_stack(complete) else {
            return Completions::none(cursor);
        };
        let items = found.completions.into_iter().map(|found| Completion {
            text: found.code,
            kind: found.kind.to_owned(),
            label: found.label,
            documentation: String::new(),
        });
        Completions {
            start: found.start_offset,
            end: found.end_offset,
            items: items.collect(),
        }
    }

    fn inspect(&self, code: &str, cursor: usize) -> Option<MimeBundle> {
        let path = path_at(code, cursor);
        if path.is_empty() {
            return None;
        }
        let question = format!(":doc {path}");
        let found = on_large_stack(|| lock(&self.0).execute(&question)).ok()?;
        let text = found.get("text/plain")?;
        let is_found = !text.trim().is_empty() && !text.contains("No documentation found");
        is_found.then(|| bundle_of(found))
    }
}

/// The process in which evcxr's cells run.
struct Process(Arc<Mutex<Child>>);

impl Cells for Process {
    fn interrupt(&self) -> bool {
        self.signal(Signal::INT);
        false
    }

    fn kill(&self) {
        self.signal(Signal::KILL);
    }
}

impl Process {
    fn signal(&self, signal: Signal) {
        // Locked for long only while evcxr waits for a process that has ended already.
        if let Ok(process) = self.0.try_lock() {
            let _ = kill_process(Pid::from_child(&process), signal);
        }
    }
}

/// Adds the folder of the shared standard library, which evcxr's own process does not load.
fn library_path() -> Result<OsString> {
    let before = std::env::var_os(LIBRARY_PATH).unwrap_or_default();
    let ours = std::iter::once(toolchain::library_folder()?);
    let folders = std::env::join_paths(ours.chain(std::env::split_paths(&before)));
    folders.context(DOES_NOT_START)
}

fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, work);
        let result = thread.expect("a thread can be started").join();
        result.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

type Outcome = Result<EvalOutputs, evcxr::Error>;

/// A cell asks for a line of input: the prompt, whether the line is hidden, and where the answer goes.
type Request = (String, bool, Sender<String>);

/// Passes events on until the cell has ended; returns how, or `None` if evcxr has panicked.
fn listen_until_done(
    outputs: &EvalContextOutputs,
    requests: &Receiver<Request>,
    done: &Receiver<Outcome>,
    running: &mut Running,
) -> Option<Outcome> {
    let outcome = loop {
        select! {
            recv(outputs.stdout) -> line => print(running, Stream::Stdout, line.ok()?),
            recv(outputs.stderr) -> line => print(running, Stream::Stderr, line.ok()?),
            recv(requests) -> request => {
                let (prompt, password, answer) = request.ok()?;
                // What the cell printed before it asked comes first.
                outputs.stdout.try_iter().for_each(|line| print(running, Stream::Stdout, line));
                let line = match running.input(&prompt, password) {
                    Answer::Line(line) => line,
                    Answer::End | Answer::Interrupted => String::new(),
                };
                let _ = answer.send(line);
            },
            recv(done) -> outcome => break outcome.ok(),
        }
    };
    let rest = outputs.stdout.try_iter();
    rest.for_each(|line| print(running, Stream::Stdout, line));
    while let Ok(line) = outputs.stderr.recv_timeout(QUIET) {
        print(running, Stream::Stderr, line);
    }
    outcome
}

/// Passes on a line that the cell has printed.
fn print(running: &mut Running, stream: Stream, line: String) {
    let text = line + "\n";
    running.event(Event::Text { stream, text });
}

/// Gets the answer for a cell.
fn ask(requests: &Sender<Request>, prompt: String, password: bool) -> String {
    let (sender, answer) = bounded(1);
    let _ = requests.send((prompt, password, sender));
    answer.recv().unwrap_or_default()
}

/// Puts a space before each `!` at the beginning of a line, which is Rust: evcxr would run the line as a shell command.
fn indented(code: &str) -> String {
    format!("\n{code}").replace("\n!", "\n !").split_off(1)
}

fn bundle_of(mut outputs: EvalOutputs) -> MimeBundle {
    // evcxr does not escape types in HTML: `Vec<f64>` would show as `Vec`.
    let is_type = outputs.get("text/html") == outputs.get("text/plain");
    if is_type {
        outputs.content_by_mime_type.remove("text/html");
    }
    let content = outputs.content_by_mime_type.into_iter();
    content
        .map(|(mime_type, text)| (mime_type, Value::String(text)))
        .collect()
}

/// Returns the path or the access at a byte of the code: `Tensor::zeros`, `x.sum`.
fn path_at(code: &str, cursor: usize) -> &str {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let is_path = |c: char| is_name(c) || c == ':' || c == '.';
    let (before, after) = code.split_at(cursor);
    let start = before.trim_end_matches(is_path).len();
    let end = cursor + after.find(|c| !is_name(c)).unwrap_or(after.len());
    code[start..end].trim_matches([':', '.'])
}
