//! Tells a person how far a long step is.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Hears how far set-up is.
pub trait Progress {
    /// A step begins, or something worth a line of its own happened.
    fn line(&mut self, text: &str);

    /// The current step got further.
    fn step(&mut self, step: &Step);
}

/// How far one step is.
pub struct Step {
    /// What is done, as a verb: `Compiling`.
    pub verb: &'static str,
    /// The thing in hand, such as a crate.
    pub name: String,
    pub done: usize,
    /// How many there are in all, nearly.
    pub total: usize,
    /// Of what, with a space before it, such as ` MB`; empty for plain things.
    pub unit: &'static str,
    pub elapsed: Duration,
}

impl Step {
    /// How long the rest takes if it goes on as so far.
    fn remaining(&self) -> Option<Duration> {
        let far_enough = self.done >= 5 && self.elapsed > Duration::from_secs(5);
        far_enough.then(|| {
            let rest = self.total.saturating_sub(self.done) as f64;
            self.elapsed.mul_f64(rest / self.done as f64)
        })
    }

    /// One line, such as `Compiling 57 of 139: candle-core, 1 min 20 s, about 2 min to go`.
    pub fn describe(&self) -> String {
        let (done, total) = (self.done.min(self.total), self.total);
        let mut line = format!(
            "{} {done} of {total}{}: {}, {}",
            self.verb,
            self.unit,
            self.name,
            duration(self.elapsed)
        );
        if let Some(remaining) = self.remaining() {
            line += &format!(", about {} to go", duration(remaining));
        }
        line
    }
}

/// `1 min 20 s`, `8 s`.
pub fn duration(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// On a terminal one line that changes; elsewhere a line now and then.
pub struct Console {
    terminal: bool,
    last: Option<Instant>,
    /// Whether the terminal's line holds a step.
    open: bool,
}

impl Console {
    pub fn new() -> Self {
        Console {
            terminal: std::io::stderr().is_terminal(),
            last: None,
            open: false,
        }
    }

    fn due(&mut self) -> bool {
        let interval = if self.terminal {
            Duration::from_millis(100)
        } else {
            Duration::from_secs(10)
        };
        let due = self.last.is_none_or(|last| last.elapsed() >= interval);
        if due {
            self.last = Some(Instant::now());
        }
        due
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            eprint!("\r\x1b[K");
        }
    }
}

impl Progress for Console {
    fn line(&mut self, text: &str) {
        self.close();
        eprintln!("{text}");
    }

    fn step(&mut self, step: &Step) {
        if !self.due() {
            return;
        }
        if self.terminal {
            eprint!("\r\x1b[K{}", step.describe());
            let _ = std::io::stderr().flush();
            self.open = true;
        } else {
            eprintln!("{}", step.describe());
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_says_how_far_it_is_and_how_long_it_takes() {
        let step = Step {
            verb: "Compiling",
            name: "candle-core".into(),
            done: 50,
            total: 150,
            unit: "",
            elapsed: Duration::from_secs(80),
        };
        assert_eq!(
            step.describe(),
            "Compiling 50 of 150: candle-core, 1 min 20 s, about 2 min 40 s to go"
        );
        let early = Step {
            done: 1,
            unit: " MB",
            elapsed: Duration::from_secs(1),
            ..step
        };
        assert_eq!(early.describe(), "Compiling 1 of 150 MB: candle-core, 1 s");
    }
}
