//! Explains cells that failed while they ran: a failed `?`, a panic, the end of the process.

use super::cell_error::{BLUE, RESET, error};
use super::panics::{or_none, unwraps, with_advice};
use crate::session::tokens;
use ra_ap_rustc_lexer::TokenKind;
use taper_evaluator::event::{CellError, Location};
use taper_evaluator::run::{End, Failed};

/// A cell that failed while it ran.
pub(crate) struct Failure {
    failed: Failed,
    message: String,
    /// The line of the cell.
    line: Option<usize>,
    /// The line of an earlier cell that has failed, in an item of that cell.
    earlier: Option<String>,
}

impl Failure {
    pub(crate) fn new(
        failed: Failed,
        message: String,
        line: Option<usize>,
        earlier: Option<String>,
    ) -> Failure {
        Failure {
            failed,
            message,
            line,
            earlier,
        }
    }

    /// Builds the error.
    pub(crate) fn into_error(self, code: &str) -> CellError {
        let place = |line| Location { line, column: None };
        let earlier = self.earlier.as_deref();
        // A line that was not reported is known where only one can have failed.
        let location = match (self.line, earlier, self.failed) {
            (None, None, Failed::Raised) => only_line_of_code(code),
            (None, None, Failed::QuestionMark) => only_question_mark(code),
            (line, ..) => line.map(place),
        };
        let (name, message) = match self.failed {
            Failed::Panic => {
                let unwraps = self.line.is_some_and(|line| unwraps(code, line));
                ("Panic", with_advice(&self.message, unwraps))
            }
            Failed::Raised | Failed::QuestionMark => ("Error", or_none(&self.message).to_owned()),
        };
        let advice = without_a_terminal(&message);
        let message = message + advice;
        let mut error = error(name, &message, location);
        let quote = match location {
            Some(Location { line, .. }) => {
                let text = code.lines().nth(line - 1).unwrap_or_default();
                Some(format!("{BLUE}{line:>4} |{RESET} {}", text.trim_end()))
            }
            None => earlier.map(|text| {
                let text = text.trim();
                format!("{BLUE}     |{RESET} {text} {BLUE}(in an earlier cell){RESET}")
            }),
        };
        error.traceback.extend(quote);
        error
    }
}

/// Returns what to do about an error of a package that reads from a terminal, such as `rpassword`.
fn without_a_terminal(message: &str) -> &'static str {
    // What Linux and the packages say about `/dev/tty` and the standard input.
    const NO_TERMINAL: [&str; 4] = [
        "No such device or address (os error 6)",
        "Inappropriate ioctl for device (os error 25)",
        "not a terminal",
        "not a TTY",
    ];
    match NO_TERMINAL.iter().any(|text| message.contains(text)) {
        true => {
            "\nA notebook has no terminal. `std::io::stdin().read_line(&mut line)?` asks in a box below the cell, \
             and `taper::notebook::read_password(\"Password: \")?` hides what is typed."
        }
        false => "",
    }
}

/// Returns the line of the cell's `?`, if only one line contains a `?`.
fn only_question_mark(code: &str) -> Option<Location> {
    let tokens = tokens::with_offsets(code).into_iter();
    let marks = tokens.filter(|(_, kind, _)| *kind == TokenKind::Question);
    only_line(code, marks.map(|(at, ..)| at))
}

/// Returns the line of the cell's code, if it has only one.
fn only_line_of_code(code: &str) -> Option<Location> {
    let tokens = tokens::with_offsets(code).into_iter();
    only_line(code, tokens.map(|(at, ..)| at))
}

/// Returns the line of the cell on which all these offsets are.
fn only_line(code: &str, offsets: impl Iterator<Item = usize>) -> Option<Location> {
    let lines = offsets.map(|at| code[..at].matches('\n').count() + 1);
    let mut lines: Vec<usize> = lines.collect();
    lines.dedup();
    match lines[..] {
        [line] => Some(Location { line, column: None }),
        _ => None,
    }
}

/// Says why the compiler failed, when the reason is not in the cell. `output` is what it printed.
pub(crate) fn compiler_failed(output: &str) -> String {
    let advice = if output.contains("No space left on device") {
        "the disk is full. Free some space, then run the cell again."
    } else if output.contains("thread 'rustc'") {
        "rustc crashed, which is a bug in the compiler. Write the cell in another way, or update Rust: \
         `rustup update stable`."
    } else {
        "the compiler failed. Restart the kernel, then run the cells again. Its last messages:"
    };
    let is_said =
        |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("Compiling ");
    let (said, _) = output.split_once("\nSTDOUT:").unwrap_or((output, ""));
    let said: Vec<&str> = said.lines().filter(is_said).collect();
    let last = &said[said.len().saturating_sub(LAST_LINES)..];
    format!("{advice}\n{}", last.join("\n"))
        .trim_end()
        .to_owned()
}

/// How many lines of a compiler that failed are shown.
const LAST_LINES: usize = 5;

/// Says how the cells process ended. `limit` is the memory that cells can use.
pub(crate) fn ended(end: &End, limit: Option<&str>) -> String {
    let what = match end {
        End {
            allocation: Some(bytes),
            ..
        } => format!(
            "Out of memory{}: one value needed {}, and the process in which all cells run was ended. \
             Check the sizes, use smaller batches, or drop variables with `drop(x)`.",
            limit.map_or(String::new(), |limit| format!(" (TAPER_MEMORY={limit})")),
            readable(*bytes)
        ),
        End {
            signal: Some(signal),
            ..
        } => by_signal(*signal),
        End {
            code: Some(code), ..
        } => {
            format!("The cell ended the process in which all cells run (exit status {code}).")
        }
        _ => "The process in which all cells run ended for an unknown reason.".to_owned(),
    };
    format!("{what}\nAll variables are lost: run the cells that define them again.")
}

/// Returns what a user reads about a cell that did not stop and goes on. `lost` are the variables that are lost.
pub(crate) fn left(lost: &[String]) -> String {
    let lost: Vec<String> = lost.iter().map(|name| format!("`{name}`")).collect();
    let variables = match &*lost.join(", ") {
        "" => "Variables of earlier cells are kept.".to_owned(),
        names => format!(
            "Lost are the variables that it uses, and those that only its thread can use: {names}. \
             Run the cells that make them again; all others are kept."
        ),
    };
    format!(
        "The cell did not stop when asked to, so it was left: it goes on in the background, with the lowest priority, \
         until it ends or you run `:restart`.\n{variables}"
    )
}

fn by_signal(signal: i32) -> String {
    let what = match signal {
        libc::SIGSEGV | libc::SIGBUS => {
            "crashed: segmentation fault (SIGSEGV). `unsafe` code touched memory that is not its own."
        }
        libc::SIGABRT => {
            "was aborted (SIGABRT): an endless recursion, a panic inside a panic, or `abort`."
        }
        libc::SIGKILL => "was killed (SIGKILL); often because memory ran out.",
        libc::SIGILL => "crashed: the processor does not know an instruction (SIGILL).",
        _ => return format!("The process in which all cells run ended (signal {signal})."),
    };
    format!("The process in which all cells run {what}")
}

fn readable(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut size = bytes as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} bytes"),
        _ => format!("{size:.1} {}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(failed: Failed, message: &str, line: Option<usize>, code: &str) -> CellError {
        Failure::new(failed, message.to_owned(), line, None).into_error(code)
    }

    #[test]
    fn a_single_question_mark_is_located() {
        let line = |code| only_question_mark(code).map(|l| l.line);
        assert_eq!(line("let a = 1;\nf()?;"), Some(2));
        assert_eq!(line("f()?;\ng()?;"), None);
        assert_eq!(line("\"?\""), None);
    }

    #[test]
    fn a_package_that_needs_a_terminal_has_an_alternative() {
        for message in [
            "No such device or address (os error 6)",
            "IO error: not a terminal",
        ] {
            let error = failed(Failed::QuestionMark, message, None, "f()?");
            assert!(error.message.contains("read_password"), "{error:?}");
        }
        let error = failed(Failed::QuestionMark, "os error 7", None, "f()?");
        assert_eq!(error.message, "os error 7");
    }

    #[test]
    fn an_error_from_inside_the_library_is_located_in_a_cell_of_one_line() {
        let line = |code| only_line_of_code(code).map(|l| l.line);
        assert_eq!(
            line("// through the network\n\nnet.forward(&x);\n"),
            Some(3)
        );
        assert_eq!(line("net.forward(&x);\nnet.forward(&y);"), None);
        assert_eq!(line(""), None);
    }

    #[test]
    fn only_a_statement_of_the_cell_can_end_it_with_a_question_mark() {
        let message = "called `Result::unwrap()` on an `Err` value: ParseIntError";
        for (cell, line, is_cell) in [
            ("let a = 1;\nf().unwrap()", 2, true),
            ("fn g() -> i32 {\n    f().unwrap()\n}\ng()", 2, false),
            ("v.iter().map(|s| s.parse().unwrap()).count()", 1, false),
            ("g()", 1, false),
        ] {
            let says = failed(Failed::Panic, message, Some(line), cell)
                .message
                .contains("then the cell ends with the error itself");
            assert_eq!(says, is_cell, "{cell}");
        }
    }

    #[test]
    fn a_compiler_that_fails_without_an_error_in_the_cell_is_explained() {
        let full = compiler_failed(
            "error: cannot write: No space left on device (os error 28)\nSTDOUT:{}",
        );
        assert!(
            full.starts_with("the disk is full.") && full.ends_with("(os error 28)"),
            "{full}"
        );
        let crash = compiler_failed("thread 'rustc' panicked at 'oh'\n\nSTDOUT:\n");
        assert!(crash.starts_with("rustc crashed"), "{crash}");
    }

    #[test]
    fn the_end_of_the_process_is_explained() {
        let end = |code, signal, allocation| End {
            code,
            signal,
            allocation,
        };
        let text = |end| ended(&end, None);
        assert!(text(end(Some(3), None, None)).contains("exit status 3"));
        assert!(text(end(None, Some(libc::SIGSEGV), None)).contains("segmentation fault"));
        let full = text(end(None, Some(libc::SIGABRT), Some(1 << 45)));
        assert!(
            full.starts_with("Out of memory: one value needed 32.0 TiB"),
            "{full}"
        );
        let refused = end(None, Some(libc::SIGABRT), Some(1 << 30));
        let limited = ended(&refused, Some("512M"));
        assert!(limited.starts_with("Out of memory (TAPER_MEMORY=512M): one value"));
        assert!(text(end(None, None, None)).contains("unknown reason"));
    }
}
