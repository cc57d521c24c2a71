//! The toolchain's rust-analyzer, a process that answers by the Language Server Protocol.

use super::packages::CELL;
use crossbeam_channel::{Receiver, Sender, unbounded};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the process may take to read the packages, and to answer: then it is ended.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that knows the packages. It ends when this value is dropped, or when this process ends: then its input is
/// closed.
pub(super) struct Server {
    process: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    /// How many messages were sent.
    sent: u64,
}

impl Server {
    /// Starts the process, and returns once it knows the packages of the project.
    pub(super) fn start(program: &Path, project: &Value) -> Option<Server> {
        let mut process = Command::new(program)
            // One heap, and large blocks outside of it: it needs 30 MB less.
            .envs([
                ("MALLOC_ARENA_MAX", "1"),
                ("MALLOC_MMAP_THRESHOLD_", "65536"),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // An interrupt in a terminal is for the cell.
            .process_group(0)
            .current_dir("/")
            .spawn()
            .ok()?;
        let (input, output) = (process.stdin.take()?, process.stdout.take()?);
        let (sender, messages) = unbounded();
        std::thread::spawn(move || read(BufReader::new(output), &sender));
        let mut server = Server {
            process,
            input,
            messages,
            sent: 0,
        };
        server.initialize(project)?;
        Some(server)
    }

    fn initialize(&mut self, project: &Value) -> Option<()> {
        let parameters = json!({
            "processId": std::process::id(),
            "rootUri": null,
            "initializationOptions": options(project),
            "capabilities": {
                "general": { "positionEncodings": ["utf-8"] },
                "textDocument": {
                    "completion": { "completionItem": {
                        // What follows a label, such as the name of a trait, is not in it.
                        "labelDetailsSupport": true,
                        "snippetSupport": true,
                    } },
                    "hover": { "contentFormat": ["markdown"] },
                },
                "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } },
                "experimental": { "serverStatusNotification": true },
            },
        });
        let id = self.request("initialize", parameters)?;
        self.answer(id)?;
        self.notify("initialized", json!({}))?;
        let document = json!({ "uri": uri(), "languageId": "rust", "version": 0, "text": "" });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }))?;
        self.receive(|message| {
            let is_status = message["method"] == "experimental/serverStatus";
            let is_done = is_status && message["params"]["quiescent"] == true;
            is_done.then_some(())
        })
    }

    /// Asks about the byte `offset` of a text, and waits for the answer.
    pub(super) fn ask(&mut self, method: &str, text: &str, offset: usize) -> Option<Value> {
        let id = self.begin(method, text, offset)?;
        self.answer(id)
    }

    /// Asks about the byte `offset` of a text, which becomes the content of the file. The next question ends the search for
    /// an answer. Returns the number of the question.
    pub(super) fn begin(&mut self, method: &str, text: &str, offset: usize) -> Option<u64> {
        let file = json!({ "uri": uri(), "version": self.sent });
        let change = json!({ "textDocument": file, "contentChanges": [{ "text": text }] });
        self.notify("textDocument/didChange", change)?;
        let before = text.get(..offset)?;
        let line = before.rfind('\n').map_or(0, |newline| newline + 1);
        let position = json!({
            "line": before.matches('\n').count(),
            "character": offset - line,
        });
        let file = json!({ "uri": uri() });
        self.request(
            method,
            json!({ "textDocument": file, "position": position }),
        )
    }

    fn request(&mut self, method: &str, parameters: Value) -> Option<u64> {
        let id = self.sent;
        self.send(json!({ "id": id, "method": method, "params": parameters }))?;
        Some(id)
    }

    fn answer(&mut self, id: u64) -> Option<Value> {
        self.receive(|message| {
            let is_answer = message["id"] == id && message["method"].is_null();
            is_answer.then(|| message["result"].take())
        })
    }

    fn notify(&mut self, method: &str, parameters: Value) -> Option<()> {
        self.send(json!({ "method": method, "params": parameters }))
    }

    fn send(&mut self, mut message: Value) -> Option<()> {
        self.sent += 1;
        message["jsonrpc"] = "2.0".into();
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).ok()?;
        self.input.flush().ok()
    }

    /// Returns what `find` finds in the first message in which it finds something. `None` is returned if the process has
    /// ended, or takes too long.
    fn receive<T>(&mut self, mut find: impl FnMut(&mut Value) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut message = self.messages.recv_deadline(deadline).ok()?;
            if let Some(found) = find(&mut message) {
                return Some(found);
            }
            // A request of the process: to be told of changes in files, which do not change.
            if !message["id"].is_null() && !message["method"].is_null() {
                self.send(json!({ "id": message["id"], "result": null }))?;
            }
        }
    }
}

#[cfg(test)]
impl Server {
    pub(super) fn kill(&mut self) {
        self.process.kill().expect("it is ours");
    }

    /// Returns whether the process ends by itself once this process has ended, which closes its input.
    pub(super) fn ends_without_input(&mut self) -> bool {
        // The input of another process takes its place, and it is closed.
        let mut other = Command::new("true")
            .stdin(Stdio::piped())
            .spawn()
            .expect("it starts");
        self.input = other.stdin.take().expect("its input");
        other.wait().expect("it ends");
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if self.process.try_wait().is_ok_and(|it| it.is_some()) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the name of the file with the cell.
fn uri() -> String {
    format!("file://{CELL}")
}

/// Reads messages until the output ends.
fn read(mut output: impl BufRead, messages: &Sender<Value>) -> Option<()> {
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            output.read_line(&mut line).ok().filter(|read| *read > 0)?;
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse().ok()?,
                Some(_) => {}
                None => break,
            }
        }
        let mut text = Vec::new();
        output.by_ref().take(length).read_to_end(&mut text).ok()?;
        messages.send(serde_json::from_slice(&text).ok()?).ok()?;
    }
}

/// The settings of rust-analyzer: it does only what it is asked for, on one thread, and starts no cargo.
fn options(project: &Value) -> Value {
    json!({
        "linkedProjects": [project],
        "cachePriming": { "enable": false },
        "cargo": { "buildScripts": { "enable": false } },
        "cfg": { "setTest": false },
        "checkOnSave": false,
        "completion": {
            "addSemicolonToUnit": false,
            "autoAwait": { "enable": false },
            "autoIter": { "enable": false },
            "autoimport": { "enable": false },
            // They say whether a function has parameters.
            "callable": { "snippets": "add_parentheses" },
            "fullFunctionSignatures": { "enable": true },
            "postfix": { "enable": false },
        },
        "diagnostics": { "enable": false },
        "files": { "watcher": "client" },
        "hover": {
            "dropGlue": { "enable": false },
            "links": { "enable": false },
            "memoryLayout": { "enable": false },
        },
        "numThreads": 1,
        "procMacro": { "enable": false },
    })
}
