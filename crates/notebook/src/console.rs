//! What the commands print, and how: colours only on a terminal, one line for progress.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// The two streams of the command. What cannot be written, because nobody reads any more, is lost
/// without a panic.
#[derive(Debug)]
pub struct Console {
    out_colours: bool,
    err_colours: bool,
    progress: bool,
}

/// How a piece of text is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Bad,
    Quiet,
    Strong,
}

impl Console {
    /// The console of this process. `NO_COLOR` and `CLICOLOR_FORCE` are heeded; the latter is how
    /// a worker hears that its parent writes to a terminal.
    pub fn new() -> Console {
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let colours = |terminal| !set("NO_COLOR") && (terminal || set("CLICOLOR_FORCE"));
        Console {
            out_colours: colours(io::stdout().is_terminal()),
            err_colours: colours(io::stderr().is_terminal()),
            progress: io::stderr().is_terminal(),
        }
    }

    /// Whether a worker whose output this console prints should use colours.
    pub fn has_colours(&self) -> bool {
        self.out_colours && self.err_colours
    }

    /// A line of the command's result.
    pub fn say(&self, line: &str) {
        let _ = writeln!(io::stdout(), "{line}");
    }

    /// A line about what went wrong or what to know.
    pub fn warn(&self, line: &str) {
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// Prints bytes as they are, the result's and the warnings'.
    pub fn pass_on(&self, out: &[u8], err: &[u8]) {
        let _ = io::stderr().write_all(err);
        let _ = io::stdout()
            .write_all(out)
            .and_then(|()| io::stdout().flush());
    }

    /// Shows what is going on at present; an empty line takes it away.
    pub fn progress(&self, line: &str) {
        if self.progress {
            let _ = write!(io::stderr(), "\r\x1b[2K{line}").and_then(|()| io::stderr().flush());
        }
    }

    /// A piece of a line for [`say`](Self::say).
    pub fn out(&self, tone: Tone, text: &str) -> String {
        paint(self.out_colours, tone, text)
    }

    /// A piece of a line for [`warn`](Self::warn).
    pub fn err(&self, tone: Tone, text: &str) -> String {
        paint(self.err_colours, tone, text)
    }

    /// A line of a diff, for [`say`](Self::say).
    pub fn diff_line(&self, line: &str) -> String {
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

/// `1 cell`, `2 cells`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A duration as people read it.
pub fn seconds(time: Duration) -> String {
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
    fn words_for_numbers() {
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
