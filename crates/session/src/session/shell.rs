//! Shell commands: lines that begin with `!`, and cells of `%%bash`. Their output is shown while they run.

use super::diagnostics;
use super::interrupt::Interrupter;
use crate::environment;
use std::io::{PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::sync_channel;
use taper_evaluator::event::{CellError, Event, Stream};

/// A program with the text that it runs.
pub(crate) struct Script<'a> {
    program: &'a str,
    text: &'a str,
    /// What the user wrote, for messages.
    shown: &'a str,
}

impl<'a> Script<'a> {
    /// Creates the script for a line that begins with `!`.
    pub(crate) fn line(command: &'a str) -> Self {
        Script {
            program: "sh",
            text: command,
            shown: command,
        }
    }

    /// Creates the script for the text below `%%bash`.
    pub(crate) fn bash(text: &'a str) -> Self {
        Script {
            program: "bash",
            text,
            shown: "%%bash",
        }
    }
}

/// Runs a script and reports its output as events.
pub(crate) fn run(
    script: &Script,
    interrupter: &Interrupter,
    emit: &mut dyn FnMut(Event),
) -> Result<(), CellError> {
    let shown = script.shown;
    let ended = start(script, interrupter, emit).map_err(|error| {
        let message = format!("`{shown}` could not be started: {error}");
        diagnostics::error("CommandFailed", &message, None)
    })?;
    if ended.success() {
        return Ok(());
    }
    let how = match ended.code() {
        Some(code) => format!("exit status {code}"),
        None => ended.to_string(),
    };
    let message = format!("`{shown}` failed ({how}).");
    Err(diagnostics::error("CommandFailed", &message, None))
}

fn start(
    script: &Script,
    interrupter: &Interrupter,
    emit: &mut dyn FnMut(Event),
) -> std::io::Result<ExitStatus> {
    let (stdout, stdout_writer) = std::io::pipe()?;
    let (stderr, stderr_writer) = std::io::pipe()?;
    let mut shell = Command::new(script.program);
    environment::for_shell(&mut shell);
    shell
        .args(["-c", script.text])
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(stdout_writer)
        .stderr(stderr_writer);
    let mut child = shell.spawn()?;
    // The command holds the write ends of the pipes, and would keep them open.
    drop(shell);
    let _group = interrupter.instead(child.id());
    let (sender, texts) = sync_channel(64);
    std::thread::scope(|scope| {
        for (stream, pipe) in [(Stream::Stdout, stdout), (Stream::Stderr, stderr)] {
            let sender = sender.clone();
            scope.spawn(move || read(stream, pipe, &|event| sender.send(event).is_ok()));
        }
        drop(sender);
        texts.into_iter().for_each(emit);
    });
    child.wait()
}

/// Reads to the end of the pipe; invalid UTF-8 becomes `U+FFFD`.
fn read(stream: Stream, mut pipe: PipeReader, emit: &dyn Fn(Event) -> bool) {
    let mut pending = Vec::new();
    let mut buffer = [0; 8192];
    while let Ok(length @ 1..) = pipe.read(&mut buffer) {
        pending.extend_from_slice(&buffer[..length]);
        let text = whole_characters(&mut pending);
        if !text.is_empty() && !emit(Event::Text { stream, text }) {
            return;
        }
    }
    if !pending.is_empty() {
        let text = String::from_utf8_lossy(&pending).into_owned();
        emit(Event::Text { stream, text });
    }
}

/// Removes the text from `bytes`, and leaves an incomplete character at their end.
fn whole_characters(bytes: &mut Vec<u8>) -> String {
    let cut = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    let rest = bytes.split_off(cut);
    let text = String::from_utf8_lossy(bytes).into_owned();
    *bytes = rest;
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_in_two_parts_is_joined() {
        let mut bytes = "aé".as_bytes()[..2].to_vec();
        assert_eq!(whole_characters(&mut bytes), "a");
        bytes.push("é".as_bytes()[1]);
        assert_eq!(whole_characters(&mut bytes), "é");
        assert!(bytes.is_empty());
    }

    #[test]
    fn invalid_bytes_are_not_held_back() {
        let mut bytes = vec![b'a', 0xff, b'b'];
        assert_eq!(whole_characters(&mut bytes), "a\u{fffd}b");
    }
}
