//! Questions that evcxr and rust-analyzer ask cargo and rustc at the start of a session: what the target is,
//! where the library is, which packages there are. The answers are the same in every session of an image, so
//! they are asked once.

use super::{basis, memory, metadata, tools};
use crate::error::{Error, Result};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use taper_host::error::Context as _;

/// A question, and the command that answers it the first time.
pub(crate) struct Question {
    command: Command,
    /// The name under which the answer is kept; `None` if the answer may change.
    name: Option<String>,
    /// Whether the answer lists packages.
    is_metadata: bool,
}

impl Question {
    /// Returns the question that these arguments ask cargo, or `None` if they are for something else,
    /// such as a build.
    pub(crate) fn of_cargo(arguments: &[OsString], session: &Path) -> Option<Question> {
        let has = |text: &str| arguments.iter().any(|argument| argument == text);
        let is_metadata = has("metadata");
        if is_metadata {
            let name = basis::of(arguments, session);
            return Some(Question {
                command: tools::cargo(arguments),
                name,
                is_metadata,
            });
        }
        // `cargo rustc … --print cfg --target T -- …` asks rustc through cargo, which costs five calls of
        // rustc instead of one.
        if arguments.first().is_some_and(|first| first == "rustc") && has("--print") {
            let asked = arguments[1..].iter().filter(|argument| *argument != "--");
            return Question::of_rustc(&asked.cloned().collect::<Vec<_>>(), session);
        }
        let is_question =
            has("locate-project") || has("--version") || (has("config") && has("get"));
        is_question.then(|| Question {
            command: tools::cargo(arguments),
            name: Some(basis::of_question(arguments, session)),
            is_metadata,
        })
    }

    /// Returns the question that these arguments ask rustc, or `None` if they compile something.
    pub(crate) fn of_rustc(arguments: &[OsString], session: &Path) -> Option<Question> {
        let asks = ["--print", "-vV", "-Vv", "--version"];
        let is_question = arguments.iter().any(|a| asks.iter().any(|ask| a == *ask));
        is_question.then(|| Question {
            command: tools::rustc(arguments),
            name: Some(basis::of_question(arguments, session)),
            is_metadata: false,
        })
    }

    /// Writes the answer to standard output: the kept answer, if there is one.
    pub(crate) fn answer(mut self, session: &Path) -> Result<ExitCode> {
        let name = self.name.map(|name| format!("{name}.answer"));
        let kept = name.as_ref().and_then(|name| memory::read(name, session));
        if let Some(kept) = kept {
            pass_on(&kept)?;
            return Ok(ExitCode::SUCCESS);
        }
        let output = self.command.stderr(Stdio::inherit()).output();
        let output = output.starting(self.command.get_program())?;
        let seen = self.is_metadata.then(|| metadata::seen(&output.stdout));
        let answer = seen.flatten().unwrap_or(output.stdout);
        if let Some(name) = name.filter(|_| output.status.success()) {
            memory::keep(&name, &answer, session);
        }
        pass_on(&answer)?;
        Ok(tools::exit_code(output.status))
    }
}

fn pass_on(answer: &[u8]) -> Result<()> {
    let written = std::io::stdout().write_all(answer);
    written.map_err(Error::system("pass on an answer"))
}
