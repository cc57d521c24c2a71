//! The Variables panel of JupyterLab's debugger, which sends requests of the Debug Adapter Protocol.
//!
//! Only the requests that the panel needs are answered; there are no breakpoints. The panel shows the variables after
//! the last cell, so a request is also answered while a cell runs.
//!
//! The parts of a variable are read from its content. What refers to a value in the protocol is the hash of its content:
//! nothing is kept for it, and the panel keeps a variable open until its content changes.

mod parts;

use super::shared::Shared;
use jupyter_protocol::{DebugReply, DebugRequest};
use parts::parts;
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering;
use taper_evaluator::Variable;
use taper_host::mutex::lock;

/// Returns the reply to a request of the debugger, unless it lacks a command.
pub(super) fn answer(request: &DebugRequest, shared: &Shared) -> Option<DebugReply> {
    let command = request.content["command"].as_str()?;
    let arguments = &request.content["arguments"];
    let (message, body) = match body(command, arguments, shared) {
        Some(body) if command == "setBreakpoints" && asks_for_breakpoints(arguments) => (
            "Taper shows variables, but has no breakpoints".to_owned(),
            body,
        ),
        Some(body) => (String::new(), body),
        None => {
            let message =
                format!("Taper shows variables, but does not support the command `{command}`");
            (message, json!({}))
        }
    };
    let content = json!({
        "type": "response",
        "seq": request.content["seq"],
        "request_seq": request.content["seq"],
        "command": command,
        "success": message.is_empty(),
        "message": message,
        "body": body,
    });
    Some(DebugReply { content })
}

fn asks_for_breakpoints(arguments: &Value) -> bool {
    let breakpoints = arguments["breakpoints"].as_array();
    breakpoints.is_some_and(|breakpoints| !breakpoints.is_empty())
}

/// Returns the body of the answer; `None` if the command is unknown, or asks for what is not there any more.
fn body(command: &str, arguments: &Value, shared: &Shared) -> Option<Value> {
    Some(match command {
        "debugInfo" => json!({
            "isStarted": shared.inspected.load(Ordering::Relaxed),
            "hashMethod": "Murmur2",
            "hashSeed": 0,
            "tmpFilePrefix": "",
            "tmpFileSuffix": ".rs",
            "breakpoints": [],
            "stoppedThreads": [],
            "richRendering": false,
            "exceptionPaths": [],
            "copyToGlobals": false,
        }),
        "initialize" | "attach" => {
            shared.inspected.store(true, Ordering::Relaxed);
            json!({})
        }
        "disconnect" => {
            shared.inspected.store(false, Ordering::Relaxed);
            json!({})
        }
        // JupyterLab shows each breakpoint that is returned as set, also an unverified one.
        "setBreakpoints" => json!({ "breakpoints": [] }),
        "modules" => json!({ "modules": [], "totalModules": 0 }),
        "configurationDone" | "setExceptionBreakpoints" => json!({}),
        "inspectVariables" => json!({ "variables": variables(shared) }),
        "variables" => {
            let reference = arguments["variablesReference"].as_u64()?;
            let variables = lock(&shared.variables);
            let content = { variables.iter() }
                .find_map(|variable| content_of(&variable.content, reference))?;
            json!({ "variables": parts(content).iter().map(part).collect::<Vec<_>>() })
        }
        _ => return None,
    })
}

fn variables(shared: &Shared) -> Vec<Value> {
    let variables = lock(&shared.variables);
    variables.iter().map(described).collect()
}

/// Describes a variable for JupyterLab, which shows the value only where there is no type, or a type of Python: the
/// type is part of the value.
fn described(variable: &Variable) -> Value {
    let Variable {
        name,
        kind,
        value,
        content,
    } = variable;
    let reference = reference(content);
    let mut described =
        json!({ "name": name, "evaluateName": name, "variablesReference": reference });
    match value.is_empty() {
        true => {
            described["type"] = json!(kind);
            described["value"] = json!("");
        }
        false => described["value"] = json!(format!("{kind} {value}")),
    }
    described
}

/// Describes a part of a value, which may have parts too.
fn part((name, content): &(String, &str)) -> Value {
    let value = match content.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}…", &content[..end]),
        None => (*content).to_owned(),
    };
    json!({ "name": name, "evaluateName": "", "value": value, "variablesReference": reference(content) })
}

/// The largest number of letters in the value of a part.
const LETTERS: usize = 60;

/// Returns what refers to a value: 0 if it has no parts.
fn reference(content: &str) -> u64 {
    if parts(content).is_empty() {
        return 0;
    }
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    // An integer that JavaScript can represent.
    (hasher.finish() >> 12).max(1)
}

/// Returns the content that a reference refers to: this content, or a part of it.
fn content_of(content: &str, wanted: u64) -> Option<&str> {
    if reference(content) == wanted {
        return Some(content);
    }
    let parts = parts(content).into_iter();
    parts
        .map(|(_, part)| part)
        .find_map(|part| content_of(part, wanted))
}
