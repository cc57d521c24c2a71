//! Helpers of this crate's tests: a fake language, notebooks built in code, and this test binary run as if
//! it were `taper`.

use crate::commands::grade::grade;
use crate::commands::run::{Destination, RunOptions, run};
use crate::commands::task::WORKER_ARGUMENT;
use crate::commands::test::test;
use crate::commands::worker::run_worker;
use crate::document::notebook::Notebook;
use anyhow::{Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use taper_evaluator::evaluator::{CellName, Evaluator, Front, Interrupt};
use taper_evaluator::event::{CellError, Event, Location, MimeBundle, Stream};

/// A language with one instruction to a line, which may be a comment where the cell must be valid Rust:
///
/// ```text
/// print TEXT · write TEXT (no end of line) · eprint TEXT · value TEXT · cwd · input · count
/// show MIME TEXT · show #ID MIME TEXT · update #ID MIME TEXT · clear · clear wait
/// fail NAME MESSAGE · fail@LINE:COLUMN NAME MESSAGE · sleep (until interrupted) · die (the process)
/// append FILE (a line to it) · touch FILE
/// ```
#[derive(Default)]
pub(crate) struct Fake {
    cells: usize,
    interrupted: Arc<Flag>,
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Interrupt for Flag {
    fn interrupt(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub(crate) fn start_fake() -> Result<Box<dyn Evaluator>> {
    if std::env::var_os("TAPER_TEST_NO_KERNEL").is_some() {
        bail!("no toolchain here");
    }
    if let Some(file) = std::env::var_os("TAPER_TEST_SLOW_START") {
        std::fs::write(file, "").unwrap();
        std::thread::sleep(Duration::from_secs(60));
    }
    Ok(Box::new(Fake::default()))
}

impl Evaluator for Fake {
    fn execute(
        &mut self,
        code: &str,
        _cell: Option<&CellName>,
        front: &mut dyn Front,
    ) -> Result<(), CellError> {
        self.cells += 1;
        for line in code.lines() {
            if let Err(error) = self.line(line.trim(), front) {
                front.event(Event::Error(error.clone()));
                return Err(error);
            }
        }
        Ok(())
    }

    fn interrupter(&self) -> Arc<dyn Interrupt> {
        self.interrupted.clone()
    }
}

impl Fake {
    fn line(&mut self, line: &str, front: &mut dyn Front) -> Result<(), CellError> {
        let line = line.trim_start_matches("// ");
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let text = |stream, text: String| Event::Text { stream, text };
        let event = match word {
            "print" => text(Stream::Stdout, format!("{rest}\n")),
            "write" => text(Stream::Stdout, rest.to_string()),
            "eprint" => text(Stream::Stderr, format!("{rest}\n")),
            "cwd" => text(
                Stream::Stdout,
                std::env::current_dir().unwrap().display().to_string(),
            ),
            "count" => text(Stream::Stdout, format!("cell {}\n", self.cells)),
            "input" => text(Stream::Stdout, format!("{:?}\n", front.input(rest, false))),
            "value" => {
                let (data, metadata) = (bundle("text/plain", rest), Map::new());
                Event::Result { data, metadata }
            }
            "show" | "update" => shown(word, rest),
            "clear" => Event::Clear {
                wait: rest == "wait",
            },
            "append" => {
                let old = std::fs::read_to_string(rest).unwrap();
                std::fs::write(rest, old + "\n").unwrap();
                return Ok(());
            }
            "touch" => {
                std::fs::write(rest, "").unwrap();
                return Ok(());
            }
            "die" => std::process::abort(),
            "sleep" => return Err(self.sleep(front)),
            _ if word.starts_with("fail") => return Err(failure(word, rest)),
            _ => return Ok(()),
        };
        front.event(event);
        Ok(())
    }

    fn sleep(&self, front: &mut dyn Front) -> CellError {
        front.event(Event::Text {
            stream: Stream::Stdout,
            text: "asleep\n".into(),
        });
        while !self.interrupted.0.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(2));
        }
        failure("fail", "Interrupted the cell was interrupted")
    }
}

fn shown(word: &str, rest: &str) -> Event {
    let (id, rest) = match rest.strip_prefix('#').and_then(|rest| rest.split_once(' ')) {
        Some((id, rest)) => (Some(id.to_string()), rest),
        None => (None, rest),
    };
    let (mime, text) = rest.split_once(' ').unwrap();
    let (data, metadata) = (bundle(mime, text), Map::new());
    match word {
        "show" => Event::Display {
            data,
            metadata,
            display_id: id,
        },
        _ => Event::UpdateDisplay {
            data,
            metadata,
            display_id: id.unwrap(),
        },
    }
}

fn bundle(mime: &str, text: &str) -> MimeBundle {
    Map::from_iter([(mime.to_string(), json!(text.replace("\\n", "\n")))])
}

fn failure(word: &str, rest: &str) -> CellError {
    let (name, message) = rest.split_once(' ').unwrap_or((rest, ""));
    let location = word.strip_prefix("fail@").map(|place| {
        let (line, column) = place.split_once(':').unwrap_or((place, ""));
        Location {
            line: line.parse().unwrap(),
            column: column.parse().ok(),
        }
    });
    CellError {
        name: name.into(),
        message: message.into(),
        traceback: vec![format!("\x1b[31m{message}\x1b[0m")],
        location,
    }
}

// ---- notebooks ----------------------------------------------------------------------------------

/// Returns a code cell with stored outputs.
pub(crate) fn code(id: &str, source: &str, outputs: Value) -> Value {
    json!({"cell_type": "code", "id": id, "metadata": {}, "execution_count": null,
           "source": source, "outputs": outputs})
}

/// Returns a code cell with a tag.
pub(crate) fn tagged(tag: &str, source: &str, outputs: Value) -> Value {
    let mut cell = code(&format!("{tag}-{}", source.len()), source, outputs);
    cell["metadata"]["tags"] = json!([tag]);
    cell
}

pub(crate) fn stdout(text: &str) -> Value {
    json!({"output_type": "stream", "name": "stdout", "text": text})
}

/// Returns a notebook in format 4.5 for this kernel.
pub(crate) fn notebook(cells: &[Value]) -> Value {
    json!({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {
        "kernelspec": {"name": "taper", "display_name": "Rust (Taper)", "language": "rust"}}})
}

/// A temporary folder for notebooks, removed after the test.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, notebook: &Value) -> PathBuf {
        self.write_text(name, serde_json::to_string_pretty(notebook).unwrap())
    }

    pub(crate) fn write_text(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn read_json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Returns the names of the files in the folder, hidden files included.
    pub(crate) fn list(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Returns the command `taper` with these arguments, in this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let mut command = this_program(&arguments).unwrap();
        command.current_dir(self.0.path());
        command
    }

    pub(crate) fn interrupted(&self, arguments: &[&str], when: &[&str]) -> Done {
        self.interrupt(self.command(arguments), when)
    }

    /// Starts the command, sends SIGINT when the notebooks have touched these files, and waits.
    pub(crate) fn interrupt(&self, mut command: Command, when: &[&str]) -> Done {
        when.iter()
            .for_each(|name| drop(std::fs::remove_file(self.path(name))));
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while !when.iter().all(|name| self.path(name).exists()) {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "the notebooks do not begin"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let done = Done::from(child.wait_with_output().unwrap());
        assert!(
            begun.elapsed() < Duration::from_secs(40),
            "it does not stop"
        );
        done
    }

    pub(crate) fn taper(&self, arguments: &[&str]) -> Done {
        Done::from(self.command(arguments).output().unwrap())
    }
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Done {
    fn from(output: Output) -> Done {
        // The test harness prints this line.
        let text = |bytes| {
            String::from_utf8(bytes)
                .unwrap()
                .replace("\nrunning 1 test\n", "")
        };
        Done {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

// ---- this binary as `taper` ---------------------------------------------------------------------

const ARGUMENTS: &str = "TAPER_TEST_ARGUMENTS";
const BETWEEN: &str = "\x1f";

/// Returns a command that runs [`command_line`] of this test binary with the given arguments.
pub(crate) fn this_program(arguments: &[OsString]) -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([
        "--exact",
        "testing::command_line",
        "--ignored",
        "--nocapture",
    ]);
    command.env(ARGUMENTS, arguments.join(BETWEEN.as_ref()));
    Ok(command)
}

/// Runs `main` with the fake language. It is not a test, but the child process of [`this_program`].
#[test]
#[ignore = "the child process of other tests"]
fn command_line() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else {
        return;
    };
    let arguments: Vec<&str> = arguments.split(BETWEEN).collect();
    let code = run_command(&arguments).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    });
    exit(code);
}

/// Parses the arguments, as the command does with a library, and runs the command.
fn run_command(arguments: &[&str]) -> Result<ExitCode> {
    if arguments[0] == WORKER_ARGUMENT {
        let arguments: Vec<OsString> = arguments[1..].iter().map(OsString::from).collect();
        return run_worker(&arguments, &start_fake);
    }
    let mut options = RunOptions::default();
    let (mut jobs, mut notebooks) = (1, Vec::new());
    let (mut assignment, mut limit) = (None, 300);
    let mut rest = arguments[1..].iter();
    while let Some(argument) = rest.next() {
        let mut value = || (*rest.next().unwrap()).to_owned();
        match *argument {
            "--inplace" => options.destination = Destination::Inplace,
            "--output" => options.destination = Destination::File(value().into()),
            "--machine" => options.destination = Destination::Machine(value()),
            "--allow-errors" => options.allow_errors = true,
            "--from-log" => options.from_log = true,
            "--grade" => assignment = Some(value()),
            "--timeout" => limit = value().parse().unwrap(),
            "-j" => jobs = value().parse().unwrap(),
            _ => match argument.strip_prefix("-j") {
                Some(number) => jobs = number.parse().unwrap(),
                None => notebooks.push(PathBuf::from(argument)),
            },
        }
    }
    if arguments[0] == "run" {
        return run(&notebooks, &options, jobs, &start_fake);
    }
    if notebooks.is_empty() {
        notebooks.push("notebooks".into());
    }
    if let Some(assignment) = assignment {
        let limit = Duration::from_secs(limit);
        return grade(Path::new(&assignment), &notebooks, limit, jobs);
    }
    test(&notebooks, options.from_log, jobs, &start_fake)
}

/// Ends the process. An `ExitCode` does not return its number, so compares it with all of them.
fn exit(code: ExitCode) -> ! {
    let number = (0..=255u8).find(|number| ExitCode::from(*number) == code);
    std::process::exit(number.map_or(255, i32::from))
}

/// Writes a notebook to a file in the folder, and reads it.
pub(crate) fn load(folder: &Folder, value: &Value) -> Notebook {
    Notebook::load(&folder.write("test.ipynb", value)).unwrap()
}
