//! Arguments and environment variables that a session passes to the relay and the cells process, and the
//! session's answer to a request for input.

use serde::{Deserialize, Serialize};

/// The first argument with which this program becomes the relay.
pub(crate) const RELAY_ARGUMENT: &str = "__relay";
/// The first argument with which this program becomes the cells process.
pub(crate) const CELLS_ARGUMENT: &str = "__cells";

/// The secret at the start of each record that a cell sends. If it is set, `taper` runs in a session.
pub(crate) const SECRET_VARIABLE: &str = "TAPER_DISPLAY";
/// The path of the library `taper`, which the cells process loads before the first cell.
pub(crate) const LIBRARY_VARIABLE: &str = "TAPER_LIBRARY";
/// The path of a file that exists once evcxr is ready for records. Until then, text passes unchanged.
pub(crate) const READY_VARIABLE: &str = "TAPER_READY_FILE";
/// The user's value of `RUST_BACKTRACE`; evcxr sets another for its child.
pub(crate) const BACKTRACE_VARIABLE: &str = "TAPER_RUST_BACKTRACE";

/// The descriptor from which the cells of our own engine read answers.
pub(crate) const ANSWERS_VARIABLE: &str = "TAPER_ANSWERS";

/// The answer to a cell that reads a line of standard input. It is sent as one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The user's line.
    Line(String),
    /// There is no user to ask: the end of the file.
    End,
    /// The user has interrupted the cell instead.
    Interrupted,
}

/// Returns the line that requests input from evcxr. evcxr takes the text between two colons for the
/// prompt, so colons in the prompt are escaped.
pub(crate) fn input_request(prompt: &str, password: bool) -> String {
    let kind = if password { "_PASSWORD" } else { "" };
    let prompt = serde_json::Value::from(prompt).to_string();
    format!(
        "EVCXR_INPUT_REQUEST{kind}:{}",
        prompt.replace(':', "\\u003a")
    )
}

/// Returns the prompt of a line that requests input, and whether it asks for a password.
pub(crate) fn requested(line: &str) -> Option<(String, bool)> {
    let rest = line.strip_prefix("EVCXR_INPUT_REQUEST")?;
    let (kind, prompt) = rest.split_once(':')?;
    Some((prompt_of(prompt), kind == "_PASSWORD"))
}

/// Returns the prompt from the part of an [`input_request`] that evcxr keeps.
pub(crate) fn prompt_of(kept: &str) -> String {
    serde_json::from_str(kept).unwrap_or_else(|_| kept.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_keeps_its_colon() {
        let line = input_request("Tea: green\\black? ", true);
        assert!(line.starts_with("EVCXR_INPUT_REQUEST_PASSWORD:"), "{line}");
        let kept = line.split(':').nth(1).expect("there is one colon");
        assert_eq!(prompt_of(kept), "Tea: green\\black? ");
        assert_eq!(prompt_of("Tea? "), "Tea? ");
    }
}
