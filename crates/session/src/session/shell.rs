//! Shell commands: lines that begin with `!`, and cells of `%%bash`. Their output is shown while they run.

use super::diagnostics;
use super::interrupt::Interrupter;
use crate::environment;
use std::io::{PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};
use taper_evaluator::event::{CellError, Event, Stream};
use taper_evaluator::text::Text;

/// How often to look whether a script has ended.
const POLL: Duration = Duration::from_millis(50);

/// How long what a script left in the background may print into its cell.
const REST: Duration = Duration::from_millis(500);

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
    for (stream, pipe) in [(Stream::Stdout, stdout), (Stream::Stderr, stderr)] {
        let sender = sender.clone();
        std::thread::spawn(move || read(stream, pipe, &|event| sender.send(event).is_ok()));
    }
    drop(sender);
    follow(&mut child, &texts, emit)
}

/// Reports the output until the script has ended. What it has started in the background may keep the pipes open.
fn follow(
    script: &mut Child,
    texts: &Receiver<Event>,
    emit: &mut dyn FnMut(Event),
) -> std::io::Result<ExitStatus> {
    let mut ended: Option<(ExitStatus, Instant)> = None;
    loop {
        let received = texts.recv_timeout(POLL);
        match (received, ended) {
            (Ok(event), Some((status, at))) if at.elapsed() > REST => {
                emit(event);
                return Ok(status);
            }
            (Ok(event), _) => emit(event),
            (Err(RecvTimeoutError::Timeout), Some((status, _))) => return Ok(status),
            (Err(RecvTimeoutError::Timeout), None) => {}
            (Err(RecvTimeoutError::Disconnected), _) => return script.wait(),
        }
        if ended.is_none() {
            ended = script.try_wait()?.map(|status| (status, Instant::now()));
        }
    }
}

/// Reads to the end of the pipe; invalid UTF-8 becomes `U+FFFD`. After the end of the cell too, without events: a
/// program in the background would be killed when it prints.
fn read(stream: Stream, mut pipe: PipeReader, emit: &dyn Fn(Event) -> bool) {
    let mut text = Text::default();
    let mut buffer = [0; 8192];
    let mut is_wanted = true;
    loop {
        let length = pipe.read(&mut buffer).unwrap_or(0);
        if is_wanted {
            let text = text.push(&buffer[..length], length == 0);
            is_wanted = text.is_empty() || emit(Event::Text { stream, text });
        }
        if length == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::interrupt::Cells;
    use super::*;

    struct NoCells;

    impl Cells for NoCells {
        fn interrupt(&self) -> bool {
            false
        }

        fn kill(&self) {}
    }

    #[test]
    fn a_cell_does_not_wait_for_the_background() {
        for command in ["sleep 600 & echo $!", "yes & echo $!; sleep 0.1"] {
            let mut text = String::new();
            let mut keep = |event| {
                if let Event::Text { text: more, .. } = event {
                    text += &more;
                }
            };
            let interrupter = Interrupter::new(Box::new(NoCells));
            run(&Script::line(command), &interrupter, &mut keep).expect("it succeeds");
            let mut lines = text.lines().filter(|line| line.parse::<u32>().is_ok());
            let process = lines.next().expect("the process in the background");
            let ended = Command::new("kill").arg(process).status();
            assert!(ended.expect("kill starts").success(), "it lives: {process}");
        }
    }
}
