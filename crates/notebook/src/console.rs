//! Writes to the terminal: text, in colour if the environment allows it, and a line that shows the progress.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// Standard output and standard error. If their reader has closed the pipe, text is dropped without a panic.
#[derive(Debug)]
pub(crate) struct Console {
    out_colours: bool,
    err_colours: bool,
    progress: bool,
}

/// The meaning of a piece of text, shown as its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Quiet,
    Strong,
}

impl Console {
    /// Creates the console of this process. It respects `NO_COLOR` and `CLICOLOR_FORCE`; a parent whose
    /// output is a terminal sets the latter for its workers.
    pub(crate) fn new() -> Console {
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let colours = |terminal| !set("NO_COLOR") && (terminal || set("CLICOLOR_FORCE"));
        Console {
            out_colours: colours(io::stdout().is_terminal()),
            err_colours: colours(io::stderr().is_terminal()),
            progress: io::stderr().is_terminal(),
        }
    }

    /// Returns whether a worker whose output this console prints should use colours.
    pub(crate) fn has_colours(&self) -> bool {
        self.out_colours && self.err_colours
    }

    /// Prints a line of the result to standard output.
    pub(crate) fn say(&self, line: &str) {
        let _ = writeln!(io::stdout(), "{line}");
    }

    /// Prints a warning or an error to standard error.
    pub(crate) fn warn(&self, line: &str) {
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// Prints a worker's output unchanged.
    pub(crate) fn pass_on(&self, out: &[u8], err: &[u8]) {
        let _ = io::stderr().write_all(err);
        let _ = io::stdout()
            .write_all(out)
            .and_then(|()| io::stdout().flush());
    }

    /// Shows the current step on a terminal; an empty line removes it.
    pub(crate) fn progress(&self, line: &str) {
        if self.progress {
            let _ = write!(io::stderr(), "\r\x1b[2K{line}").and_then(|()| io::stderr().flush());
        }
    }

    /// Colours text for [`say`](Self::say).
    pub(crate) fn out(&self, tone: Tone, text: &str) -> String {
        paint(self.out_colours, tone, text)
    }

    /// Colours text for [`warn`](Self::warn).
    pub(crate) fn err(&self, tone: Tone, text: &str) -> String {
        paint(self.err_colours, tone, text)
    }

    /// Colours a line of a diff for [`say`](Self::say).
    pub(crate) fn diff_line(&self, line: &str) -> String {
        match line.as_bytes().first() {
            Some(b'-') => self.out(Tone::Bad, line),
            Some(b'+') => self.out(Tone::Good, line),
            Some(b'@') => self.out(Tone::Quiet, line),
            _ => line.to_string(),
        }
    }
}

fn paint(colours: bool, tone: Tone, text: &str) -> String {
    let code = match tone {
        Tone::Good => 32,
        Tone::Bad => 31,
        Tone::Quiet => 2,
        Tone::Strong => 1,
    };
    if colours {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_string()
    }
}

/// Returns `1 cell`, `2 cells`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns a duration in seconds, or in minutes and seconds.
pub(crate) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = time.as_secs();
    format!("{} min {} s", whole / 60, whole % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_durations() {
        assert_eq!(count(0, "error"), "0 errors");
        assert_eq!(count(1, "cell"), "1 cell");
        assert_eq!(seconds(Duration::from_millis(12_340)), "12.3 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2 min 5 s");
    }

    #[test]
    fn colours() {
        let console = |colours| Console {
            out_colours: colours,
            err_colours: false,
            progress: false,
        };
        assert_eq!(console(true).diff_line("-a"), "\x1b[31m-a\x1b[0m");
        assert_eq!(console(false).diff_line("-a"), "-a");
        assert_eq!(console(true).err(Tone::Bad, "a"), "a");
    }
}
