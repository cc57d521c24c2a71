//! The Variables panel of JupyterLab's debugger, which sends requests of the Debug Adapter Protocol.
//!
//! Only the requests that the panel needs are answered; there are no breakpoints. The panel shows the variables after
//! the last cell, so a request is also answered while a cell runs.

use super::shared::Shared;
use jupyter_protocol::{DebugReply, DebugRequest};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use taper_evaluator::Variable;
use taper_host::mutex::lock;

/// Returns the reply to a request of the debugger, unless it lacks a command.
pub(super) fn answer(request: &DebugRequest, shared: &Shared) -> Option<DebugReply> {
    let command = request.content["command"].as_str()?;
    let body = body(command, shared);
    let content = json!({
        "type": "response",
        "seq": request.content["seq"],
        "request_seq": request.content["seq"],
        "command": command,
        "success": body.is_some(),
        "message": match body {
            Some(_) => String::new(),
            None => format!("Taper shows variables, but does not support the command `{command}`"),
        },
        "body": body.unwrap_or_else(|| json!({})),
    });
    Some(DebugReply { content })
}

/// Returns the body of the answer; `None` if the command is unknown.
fn body(command: &str, shared: &Shared) -> Option<Value> {
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
        "setBreakpoints" => json!({ "breakpoints": [] }),
        "modules" => json!({ "modules": [], "totalModules": 0 }),
        "configurationDone" | "setExceptionBreakpoints" => json!({}),
        "inspectVariables" => json!({ "variables": variables(shared) }),
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
    let Variable { name, kind, value } = variable;
    let mut described = json!({ "name": name, "evaluateName": name, "variablesReference": 0 });
    match value.is_empty() {
        true => {
            described["type"] = json!(kind);
            described["value"] = json!("");
        }
        false => described["value"] = json!(format!("{kind} {value}")),
    }
    described
}
