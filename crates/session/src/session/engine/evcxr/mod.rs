//! Hides evcxr behind the trait [`Engine`]. Nothing outside of this folder names it.

mod error;

use super::input::{InputRequest, ask};
use super::interface::{Engine, EngineEvent, Listen, Start};
use crate::compile::Early;
use crate::error::{Error, Result};
use crate::session::completions;
use crate::session::diagnostics::EngineError;
use crate::session::diagnostics::failure::line_of_cell;
use crate::session::diagnostics::rustc::{read_messages, warnings};
use crate::session::documentation;
use crate::session::interrupt::Cells;
use crate::session::source_map::SourceMap;
use crate::{heap::Heap, relay, workspace};
use crossbeam_channel::{Receiver, bounded, never, select, unbounded};
use error::to_engine_error;
use evcxr::{CommandContext, EvalCallbacks, EvalContext, EvalContextOutputs, EvalOutputs};
use serde_json::Value;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taper_evaluator::evaluator::{Completion, Completions};
use taper_evaluator::event::MimeBundle;
use taper_evaluator::record::Record;
use taper_host::error::Context as _;

/// The stack of evcxr's threads in bytes: rust-analyzer recurses deeply into types.
const STACK: usize = 64 << 20;

/// How often to look whether an evaluation was given up.
const LOOK: Duration = Duration::from_millis(50);

/// A statement from which evcxr learns that cells use `?`. Otherwise it learns this from a compile error
/// in the first cell with `?`, and mistakes that error for one about the display of the cell's value.
const QUESTION_MARK: &str = "Ok::<(), Error>(())?;";

/// One evcxr context.
pub(super) struct Evcxr {
    /// The dependency on the crate `taper`, as a line of a manifest.
    taper: String,
    /// evcxr's work directory.
    work: PathBuf,
    /// `None` while a thread evaluates, also after it was given up.
    context: Option<Box<CommandContext>>,
    /// Receives the context from a thread that was given up.
    busy: Option<Receiver<Evaluated>>,
    outputs: EvalContextOutputs,
    /// The messages of the last compilation, as the replacement of cargo writes them.
    messages: PathBuf,
    /// The source of the last compilation.
    source: PathBuf,
    /// Set to return before the evaluating thread has ended: nothing can stop rust-analyzer.
    given_up: Arc<AtomicBool>,
    /// Notified of each analysis.
    heap: Heap,
}

/// What a thread returns: the context, and the outcome of the cell or a panic.
type Evaluated = (Box<CommandContext>, std::thread::Result<Outcome>);

impl Evcxr {
    /// Starts evcxr in `work` (which the variable `EVCXR_TMPDIR` must name) with the relay as its child.
    pub(super) fn start(start: &Start) -> Result<Evcxr> {
        let work = start.work;
        // evcxr reads the arguments of this process, and would panic.
        if let Some(odd) = std::env::args_os().find(|argument| argument.to_str().is_none()) {
            return Err(Error::Argument(odd));
        }
        let ready = work.join("ready-for-records");
        // A file of an earlier session in this work directory would make evcxr wait indefinitely.
        if ready.exists() {
            std::fs::remove_file(&ready).on_file("remove", &ready)?;
        }
        let mut relay = Command::new(taper_host::process::program()?);
        relay.arg(relay::RELAY_ARGUMENT);
        relay.env(
            relay::SECRET_VARIABLE,
            uuid::Uuid::new_v4().simple().to_string(),
        );
        relay.env(relay::READY_VARIABLE, &ready);
        relay.env(relay::LIBRARY_VARIABLE, &start.library);
        relay.env(LIBRARY_PATH, library_path(work)?);
        match std::env::var_os("RUST_BACKTRACE") {
            Some(value) => relay.env(relay::BACKTRACE_VARIABLE, value),
            None => relay.env_remove(relay::BACKTRACE_VARIABLE),
        };
        let locked = std::fs::read(work.join("Cargo.lock")).ok();
        let (context, outputs) = on_large_stack(|| EvalContext::with_subprocess_command(relay))
            .map_err(|error| Error::Start(error.to_string()))?;
        // evcxr starts with a crate without dependencies, for which cargo empties the lock file.
        if let Some(locked) = locked {
            let file = work.join("Cargo.lock");
            std::fs::write(&file, locked).on_file("write", &file)?;
        }
        crate::compile::show_library(work)?;
        std::fs::write(&ready, "").on_file("write", &ready)?;
        Ok(Evcxr {
            taper: workspace::dependency(&start.taper, &start.features),
            work: work.to_owned(),
            context: Some(Box::new(CommandContext::with_eval_context(context))),
            busy: None,
            outputs,
            messages: work.join(crate::compile::MESSAGES),
            source: work.join("src/lib.rs"),
            given_up: Arc::default(),
            heap: Heap::start(),
        })
    }

    fn evaluate(&mut self, code: &str, listen: &mut dyn FnMut(EngineEvent)) -> Outcome {
        let Some(mut context) = self.context.take() else {
            return Err("an interrupted cell is still being analysed"
                .to_owned()
                .into());
        };
        let (done_sender, done) = bounded(1);
        let (request_sender, requests) = unbounded();
        let code = code.to_owned();
        let busy = self.heap.busy();
        let evaluate = move || {
            let mut callbacks = EvalCallbacks {
                input_reader: &|request| ask(&request_sender, request.prompt, request.is_password),
            };
            let run = || context.execute_with_callbacks(&code, &mut callbacks);
            let outcome = catch_unwind(AssertUnwindSafe(run));
            let _ = done_sender.send((context, outcome));
            drop(busy);
        };
        std::thread::Builder::new()
            .stack_size(STACK)
            .spawn(evaluate)
            .expect("a thread can be started");
        match listen_until_done(&self.outputs, &requests, &done, &self.given_up, listen) {
            Some(Some((context, outcome))) => {
                self.context = Some(context);
                outcome.unwrap_or_else(|panic| resume_unwind(panic))
            }
            Some(None) => Err("the compiler thread ended early".to_owned().into()),
            None => {
                self.busy = Some(done);
                Err("the analysis of the cell was given up".to_owned().into())
            }
        }
    }

    /// Returns what rust-analyzer shows at the byte `cursor`, as text and as HTML.
    fn hover(&mut self, code: &str, cursor: usize) -> Option<(String, String)> {
        let found = self.context.as_mut()?.hover_at(code, cursor).ok()?;
        (found.0 != "No documentation found").then_some(found)
    }
}

impl Engine for Evcxr {
    /// The cell sets the linker: if evcxr chose one from the PATH, all packages would be compiled again in
    /// kernels with another PATH.
    fn first_cell(&self, import: &str) -> String {
        let home = crate::compile::cargo_home().unwrap_or_default();
        let home = home.to_string_lossy();
        let taper = &self.taper;
        format!(
            ":build_env CARGO_HOME={home}\n:linker system\n:dep {taper}\n{import}\n{QUESTION_MARK}"
        )
    }

    /// After evcxr's `:restart`, the next cell would still look for the variables of the old process.
    fn end_process(&mut self) -> Result<(), EngineError> {
        self.execute("std::process::exit(0);", &mut |_| {})
            .map(drop)
    }

    fn execute(&mut self, code: &str, listen: &mut Listen) -> Result<MimeBundle, EngineError> {
        let _compiler = Early::start(code, &self.work);
        let messages = self.messages.clone();
        // The messages of an earlier cell.
        let _ = std::fs::remove_file(&messages);
        let source_file = self.source.clone();
        let mut warned = false;
        let result = self.evaluate(code, &mut |event| {
            let source = || std::fs::read_to_string(&source_file).unwrap_or_default();
            if !warned && messages.exists() {
                warned = true;
                warn(&messages, &source(), code, listen);
            }
            listen(match event {
                EngineEvent::Record(Record::ThreadPanic {
                    thread,
                    message,
                    file,
                    line,
                }) => EngineEvent::ThreadPanic {
                    thread,
                    message,
                    line: line_of_cell(file.as_deref(), line)
                        .and_then(|line| SourceMap::new(&source(), code).line(line))
                        .map(|location| location.line),
                },
                event => event,
            });
        });
        let source = self.last_source();
        if result.is_ok() && !warned {
            warn(&messages, &source, code, listen);
        }
        result
            .map(bundle_of)
            .map_err(|error| to_engine_error(error, &messages, &SourceMap::new(&source, code)))
    }

    fn variables(&self) -> Vec<(String, String)> {
        let context = self.context.iter();
        let variables = context.flat_map(|context| context.variables_and_types());
        variables
            .map(|(name, kind)| (name.to_owned(), kind.to_owned()))
            .collect()
    }

    fn compiles(&mut self, code: &str) -> bool {
        let Some(context) = &mut self.context else {
            return false;
        };
        let is_error = |found: &evcxr::CompilationError| found.level() == "error";
        on_large_stack(|| {
            context
                .check(code)
                .is_ok_and(|found| !found.iter().any(is_error))
        })
    }

    fn complete(&mut self, code: &str, cursor: usize) -> Completions {
        let _busy = self.heap.busy();
        let context = self.context.as_mut();
        let Some(Ok(found)) = context.map(|context| context.completions(code, cursor)) else {
            return Completions::none(cursor);
        };
        let items = found.completions.into_iter().map(|c| Completion {
            text: c.code,
            kind: c.kind.to_owned(),
            label: c.label,
            documentation: String::new(),
        });
        Completions {
            start: found.start_offset,
            end: found.end_offset,
            items: items.collect(),
        }
    }

    fn describe(&mut self, found: &mut Completions, code: &str) {
        completions::ask_for_documentation(found, code, |code, at| {
            let shown = self.inspect(code, at)?;
            Some(shown.get("text/plain")?.as_str()?.to_owned())
        });
    }

    fn inspect(&mut self, code: &str, cursor: usize) -> Option<MimeBundle> {
        let (text, page) = self.hover(code, cursor)?;
        let bundle = [
            ("text/plain", documentation::text(&text)),
            ("text/html", documentation::page(&page)),
        ];
        let bundle = bundle.into_iter();
        Some(bundle.map(|(k, v)| (k.to_owned(), v.into())).collect())
    }

    fn type_of(&mut self, expression: &str) -> Option<String> {
        let mut known = self.variables().into_iter();
        if let Some((_, kind)) = known.find(|(name, _)| name == expression) {
            return Some(kind);
        }
        let code = format!("let taper_value = {{ {expression} }}; taper_value");
        let (text, _) = self.hover(&code, code.len())?;
        let kind = text.split_once("let taper_value: ")?.1;
        Some(kind.lines().next()?.trim().to_owned())
    }

    fn last_source(&self) -> String {
        std::fs::read_to_string(&self.source).unwrap_or_default()
    }

    fn lost(&mut self) -> Option<Vec<String>> {
        None
    }

    fn cells(&self) -> Cells {
        let context = self.context.as_ref().expect("nothing is evaluated yet");
        Cells::Relay(context.process_handle())
    }

    fn given_up(&self) -> Arc<AtomicBool> {
        self.given_up.clone()
    }

    fn wait(&mut self, listen: &mut Listen) -> bool {
        while let Some(busy) = &self.busy {
            match listen_until_done(&self.outputs, &never(), busy, &self.given_up, listen) {
                Some(Some((context, _))) => {
                    self.context = Some(context);
                    self.busy = None;
                }
                Some(None) => self.busy = None,
                None => return false,
            }
        }
        true
    }

    fn is_idle(&self) -> bool {
        self.context.is_some()
    }
}

/// The variable with the folders in which the dynamic loader looks for libraries.
const LIBRARY_PATH: &str = if cfg!(target_os = "macos") {
    "DYLD_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// Returns the value of [`LIBRARY_PATH`] with the folders of `taper` and of the shared standard library.
/// The paths compiled into a cell do not lead to these: they are relative to another folder than the
/// cell's.
fn library_path(work: &Path) -> Result<OsString> {
    let before = std::env::var_os(LIBRARY_PATH).unwrap_or_default();
    let taper = work
        .join("target")
        .join(taper_host::toolchain::host()?)
        .join("debug");
    let ours = [taper, taper_host::toolchain::library_folder()?];
    let folders = ours.into_iter().chain(std::env::split_paths(&before));
    Ok(std::env::join_paths(folders)?)
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

/// Passes events on until the thread has ended; returns its result, `Some(None)` if it has none, or `None`
/// if the evaluation was given up.
fn listen_until_done(
    outputs: &EvalContextOutputs,
    requests: &Receiver<InputRequest>,
    done: &Receiver<Evaluated>,
    given_up: &AtomicBool,
    listen: &mut dyn FnMut(EngineEvent),
) -> Option<Option<Evaluated>> {
    let evaluated = loop {
        select! {
            recv(outputs.stdout) -> line => if let Ok(line) = line { pass_on(&line, listen) },
            recv(outputs.stderr) -> line => if let Ok(line) = line { eprintln!("{line}") },
            recv(requests) -> request => if let Ok(request) = request {
                // What the cell printed before it asked comes first.
                outputs.stdout.try_iter().for_each(|line| pass_on(&line, listen));
                listen(EngineEvent::InputRequest(request));
            },
            recv(done) -> evaluated => break evaluated.ok(),
            default(LOOK) => if given_up.load(Ordering::Relaxed) {
                return None;
            },
        }
    };
    // evcxr sends every line of this cell before it reports that the cell has ended.
    outputs
        .stdout
        .try_iter()
        .for_each(|line| pass_on(&line, listen));
    Some(evaluated)
}

fn pass_on(line: &str, listen: &mut dyn FnMut(EngineEvent)) {
    if let Some(record) = Record::from_line(line) {
        listen(EngineEvent::Record(record));
    }
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

/// Reports the compiler's warnings about the cell.
fn warn(messages: &Path, source: &str, code: &str, listen: &mut dyn FnMut(EngineEvent)) {
    let warnings = warnings(&read_messages(messages), &SourceMap::new(source, code));
    if !warnings.is_empty() {
        listen(EngineEvent::Warnings(warnings));
    }
}
