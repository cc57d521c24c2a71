//! Progress reports of steps that take long.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Shows the progress of a set-up.
pub trait Progress {
    /// Shows a line of text, for example that a step begins.
    fn line(&mut self, text: &str);

    /// Shows how far the current step is.
    fn step(&mut self, step: &Step);

    /// Returns whether the user has asked to stop. Long steps call this function several times a second.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// The state of a step.
pub struct Step {
    /// What the step does, as a verb: `Compiling`.
    pub verb: &'static str,
    /// The current item, such as a crate.
    pub name: String,
    /// The number of items that are done.
    pub done: usize,
    /// The estimated number of all items.
    pub total: usize,
    /// The unit of `done` and `total` with a space before it, such as ` MB`; empty for items that are counted.
    pub unit: &'static str,
    /// The time since the step began.
    pub elapsed: Duration,
    /// The estimated time until the step ends; `None` while it cannot be estimated.
    pub remaining: Option<Duration>,
}

/// Estimates the time for the remaining items, assuming that all items take equally long. Returns `None` for the
/// first items and seconds.
pub fn at_the_same_speed(done: usize, total: usize, elapsed: Duration) -> Option<Duration> {
    let far_enough = done >= 5 && elapsed > Duration::from_secs(5);
    far_enough.then(|| elapsed.mul_f64(total.saturating_sub(done) as f64 / done as f64))
}

impl Step {
    /// Returns a line such as `Compiling 57 of 139: candle-core, 1 min 20 s, about 2 min to go`.
    pub fn describe(&self) -> String {
        let (done, total) = (self.done.min(self.total), self.total);
        let mut line = format!(
            "{} {done} of {total}{}: {}, {}",
            self.verb,
            self.unit,
            self.name,
            duration(self.elapsed)
        );
        if let Some(remaining) = self.remaining {
            line += &format!(", about {} to go", duration(remaining));
        }
        line
    }
}

/// Formats a duration: `1 min 20 s`, `8 s`.
pub fn duration(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// Progress on standard error: on a terminal one line that changes, elsewhere a line every ten seconds.
#[derive(Default)]
pub struct Console {
    last: Option<Instant>,
    /// Whether the terminal's current line shows a step.
    open: bool,
}

impl Console {
    /// Creates a display that shows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn due(&mut self, interval: Duration) -> bool {
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
        let terminal = std::io::stderr().is_terminal();
        let interval = match terminal {
            true => Duration::from_millis(100),
            false => Duration::from_secs(10),
        };
        if !self.due(interval) {
            return;
        }
        if terminal {
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
    fn a_step_is_described_by_its_progress_and_the_time_that_is_left() {
        let step = Step {
            verb: "Compiling",
            name: "candle-core".into(),
            done: 50,
            total: 150,
            unit: "",
            elapsed: Duration::from_secs(80),
            remaining: at_the_same_speed(50, 150, Duration::from_secs(80)),
        };
        assert_eq!(
            step.describe(),
            "Compiling 50 of 150: candle-core, 1 min 20 s, about 2 min 40 s to go"
        );
        let early = Step {
            done: 1,
            unit: " MB",
            elapsed: Duration::from_secs(1),
            remaining: at_the_same_speed(1, 150, Duration::from_secs(1)),
            ..step
        };
        assert_eq!(early.describe(), "Compiling 1 of 150 MB: candle-core, 1 s");
    }
}
