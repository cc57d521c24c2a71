//! Progress reports of steps that take long.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What the step does, as a verb: `Compiling`.
    pub verb: Cow<'static, str>,
    /// The current items, such as crates.
    pub name: String,
    /// The number of items that are done.
    pub done: usize,
    /// The estimated number of all items.
    pub total: usize,
    /// The unit of `done` and `total` with a space before it, such as ` MB`; empty for items that are counted.
    pub unit: Cow<'static, str>,
    /// The time since the step began.
    pub elapsed: Duration,
    /// The estimated time until the step ends; `None` while it cannot be estimated, and zero once the step takes longer
    /// than was estimated.
    pub remaining: Option<Duration>,
}

/// Estimates the time for the remaining items, assuming that all items take equally long. Returns `None` for the
/// first items and seconds.
pub fn at_the_same_speed(done: usize, total: usize, elapsed: Duration) -> Option<Duration> {
    let far_enough = done >= 5 && elapsed > Duration::from_secs(5);
    let left = total.saturating_sub(done);
    (far_enough && left > 0).then(|| elapsed.mul_f64(left as f64 / done as f64))
}

impl Step {
    /// Returns a line such as `Compiling 57 of 139: candle-core, 1 min 20 s, about 2 min to go`.
    pub fn describe(&self) -> String {
        let (done, total) = (self.done.min(self.total), self.total);
        let (verb, unit, elapsed) = (&self.verb, &self.unit, duration(self.elapsed));
        let mut line = match &*self.name {
            "" => format!("{verb} {done} of {total}{unit}, {elapsed}"),
            name => format!("{verb} {done} of {total}{unit}: {name}, {elapsed}"),
        };
        match self.remaining {
            None => {}
            Some(Duration::ZERO) => line += ", longer than expected",
            Some(remaining) => line += &format!(", about {} to go", duration(remaining)),
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

/// The file in a locked folder with the current step of the process that has locked it.
const PUBLISHED: &str = "progress";

/// How often the file is written.
const INTERVAL: Duration = Duration::from_millis(500);

/// Progress that other processes can read, which wait until this one is done.
pub struct Published<'a> {
    progress: &'a mut dyn Progress,
    file: PathBuf,
    last: Option<Instant>,
}

impl<'a> Published<'a> {
    /// Publishes the steps in a folder that this process has locked. What another has left there is removed.
    pub fn new(folder: &Path, progress: &'a mut dyn Progress) -> Self {
        let file = folder.join(PUBLISHED);
        let _ = std::fs::remove_file(&file);
        Self {
            progress,
            file,
            last: None,
        }
    }

    /// Returns the current step of the process that has locked a folder.
    pub fn read(folder: &Path) -> Option<Step> {
        serde_json::from_slice(&std::fs::read(folder.join(PUBLISHED)).ok()?).ok()
    }
}

impl Progress for Published<'_> {
    fn line(&mut self, text: &str) {
        self.progress.line(text);
    }

    fn step(&mut self, step: &Step) {
        self.progress.step(step);
        if self.last.is_none_or(|last| last.elapsed() >= INTERVAL) {
            self.last = Some(Instant::now());
            // Who waits for it reads the next one, if this cannot be written or is not complete.
            let _ = serde_json::to_vec(step).map(|step| std::fs::write(&self.file, step));
        }
    }

    fn is_stopped(&self) -> bool {
        self.progress.is_stopped()
    }
}

impl Drop for Published<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Progress on standard error: on a terminal one line that changes, elsewhere a line every ten seconds.
#[derive(Default)]
pub struct Console {
    last: Option<Instant>,
    /// How often a step has a line of its own, also on a terminal.
    every: Option<Duration>,
    /// Whether the terminal's current line shows a step.
    open: bool,
}

impl Console {
    /// Creates a display that shows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a display beside another program that prints: each step has a line of its own, at this interval.
    pub fn every(interval: Duration) -> Self {
        Self {
            every: Some(interval),
            // The first step says little.
            last: Some(Instant::now()),
            ..Self::default()
        }
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
        let terminal = self.every.is_none() && std::io::stderr().is_terminal();
        let interval = match terminal {
            true => Duration::from_millis(100),
            false => self.every.unwrap_or(Duration::from_secs(10)),
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
            verb: "Compiling".into(),
            name: "candle-core".into(),
            done: 50,
            total: 150,
            unit: "".into(),
            elapsed: Duration::from_secs(80),
            remaining: at_the_same_speed(50, 150, Duration::from_secs(80)),
        };
        assert_eq!(
            step.describe(),
            "Compiling 50 of 150: candle-core, 1 min 20 s, about 2 min 40 s to go"
        );
        let late = Step {
            remaining: Some(Duration::ZERO),
            ..step.clone()
        };
        assert_eq!(
            late.describe(),
            "Compiling 50 of 150: candle-core, 1 min 20 s, longer than expected"
        );
        let early = Step {
            done: 1,
            unit: " MB".into(),
            elapsed: Duration::from_secs(1),
            remaining: at_the_same_speed(1, 150, Duration::from_secs(1)),
            ..step
        };
        assert_eq!(early.describe(), "Compiling 1 of 150 MB: candle-core, 1 s");
    }
}
