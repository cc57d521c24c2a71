//! [`timeit!`](crate::timeit): the time of a few lines, measured as IPython's `%timeit` does.

use crate::notebook::digits::{TIMES, three_digits, without_zeros};
use crate::notebook::{Show, interrupted};
use std::time::{Duration, Instant};

/// The number of runs.
const RUNS: usize = 7;
/// A run must take at least this long.
const LONG_ENOUGH: Duration = Duration::from_millis(200);
/// The most repetitions in a run.
const MOST_LOOPS: usize = 1_000_000_000;

/// Measures how long code takes, and returns a [`Timeit`].
///
/// Repeats the code in 7 runs. Each run repeats it as often as needed to take at least 0.2 s: 1, 10, 100 … times.
/// `-n LOOPS` sets that number, `-r RUNS` the number of runs. The code is compiled once, for any number of
/// repetitions; its values are dropped within the measured time. In a notebook, write `%timeit CODE`.
///
/// Work on a GPU may go on after the code has ended: measure it with [`benchmark`](crate::bench::benchmark).
///
/// ```
/// let numbers = vec![1.0_f64; 1000];
/// let timing = taper::timeit!(-n 10 -r 3 numbers.iter().sum::<f64>());
/// assert_eq!(timing.loops(), 10);
/// assert!(timing.to_string().ends_with("of 3 runs, 10 loops each)"));
/// ```
#[macro_export]
macro_rules! timeit {
    (@ $timer:expr; -n $loops:literal $($code:tt)*) => {
        $crate::timeit!(@ $timer.with_loops($loops); $($code)*)
    };
    (@ $timer:expr; -r $runs:literal $($code:tt)*) => {
        $crate::timeit!(@ $timer.with_runs($runs); $($code)*)
    };
    (@ $timer:expr; $($code:tt)*) => {{
        let mut timer = $timer;
        while let Some(loops) = timer.next_run() {
            for _ in 0..loops {
                ::std::hint::black_box({ $($code)* });
            }
        }
        timer.finish()
    }};
    ($($code:tt)*) => {
        $crate::timeit!(@ $crate::bench::Timer::default(); $($code)*)
    };
}

/// The mean and the standard deviation of the runs of [`timeit!`](crate::timeit).
///
/// ```
/// let timing = taper::timeit!(-n 1 -r 2 1 + 1);
/// assert!(timing.mean().as_secs_f64() < 1.0);
/// ```
#[derive(Clone, Debug)]
pub struct Timeit {
    /// Seconds for one repetition, for each run.
    seconds: Vec<f64>,
    loops: usize,
}

impl Timeit {
    /// Returns the mean time of one repetition.
    ///
    /// ```
    /// assert!(taper::timeit!(-n 1 -r 1 1 + 1).mean().as_secs_f64() < 1.0);
    /// ```
    pub fn mean(&self) -> Duration {
        Duration::from_secs_f64(self.statistics().0)
    }

    /// Returns the standard deviation over the runs.
    ///
    /// ```
    /// assert!(taper::timeit!(-n 1 -r 1 1 + 1).std().is_zero());
    /// ```
    pub fn std(&self) -> Duration {
        Duration::from_secs_f64(self.statistics().1)
    }

    /// Returns the number of repetitions in each run.
    ///
    /// ```
    /// assert_eq!(taper::timeit!(-n 5 -r 1 1 + 1).loops(), 5);
    /// ```
    pub fn loops(&self) -> usize {
        self.loops
    }

    fn statistics(&self) -> (f64, f64) {
        let count = self.seconds.len().max(1) as f64;
        let mean = self.seconds.iter().sum::<f64>() / count;
        let squares = self.seconds.iter().map(|seconds| (seconds - mean).powi(2));
        (mean, (squares.sum::<f64>() / count).sqrt())
    }
}

impl std::fmt::Display for Timeit {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let (mean, std) = self.statistics();
        let (mean, std) = (short_time(mean), short_time(std));
        let runs = counted(self.seconds.len(), "run");
        let loops = counted(self.loops, "loop");
        write!(
            f,
            "{mean} ± {std} per loop (mean ± std. dev. of {runs}, {loops} each)"
        )
    }
}

impl Show for Timeit {
    fn show_text(&self) -> String {
        self.to_string()
    }
}

/// Decides for [`timeit!`](crate::timeit) how often the code is repeated, and measures the runs.
#[doc(hidden)]
pub struct Timer {
    loops: Option<usize>,
    runs: usize,
    /// The number of repetitions in the latest trial run: trial runs determine `loops` if it is not set.
    last: usize,
    began: Option<Instant>,
    seconds: Vec<f64>,
}

impl Default for Timer {
    fn default() -> Self {
        Timer {
            loops: None,
            runs: RUNS,
            last: 1,
            began: None,
            seconds: Vec::new(),
        }
    }
}

impl Timer {
    setters! {
        pub fn with_loops(self, loops: usize): self.loops = Some(loops.max(1));

        pub fn with_runs(self, runs: usize): self.runs = runs.max(1);
    }

    /// Ends a run, and returns how often the code is repeated in the next one, if there is one.
    #[inline(never)]
    pub fn next_run(&mut self) -> Option<usize> {
        let elapsed = self.began.take().map(|began| began.elapsed());
        match (elapsed, self.loops) {
            (Some(elapsed), Some(loops)) => self.seconds.push(elapsed.as_secs_f64() / loops as f64),
            (Some(elapsed), None) if elapsed >= LONG_ENOUGH || self.last >= MOST_LOOPS => {
                self.loops = Some(self.last);
            }
            (Some(_), None) => self.last *= 10,
            (None, _) => {}
        }
        if interrupted() || self.seconds.len() == self.runs {
            return None;
        }
        let loops = self.loops.unwrap_or(self.last);
        self.began = Some(Instant::now());
        Some(loops)
    }

    pub fn finish(self) -> Timeit {
        Timeit {
            seconds: self.seconds,
            loops: self.loops.unwrap_or(self.last),
        }
    }
}

/// Formats a time with three significant digits, without zeros at the end: `2.41 µs`, `250 ms`.
fn short_time(seconds: f64) -> String {
    let (text, unit) = three_digits(seconds * 1e9, &TIMES);
    format!("{} {unit}", without_zeros(&text))
}

/// Formats `1 loop`, `100,000 loops`.
fn counted(count: usize, what: &str) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    let plural = if count == 1 { "" } else { "s" };
    format!("{text} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_prints_like_ipython() {
        let timing = Timeit {
            seconds: vec![2.4e-6, 2.42e-6, 2.41e-6],
            loops: 100_000,
        };
        assert_eq!(
            timing.to_string(),
            "2.41 µs ± 8.16 ns per loop (mean ± std. dev. of 3 runs, 100,000 loops each)"
        );
        let once = Timeit {
            seconds: vec![1.5],
            loops: 1,
        };
        assert_eq!(
            once.to_string(),
            "1.5 s ± 0 ns per loop (mean ± std. dev. of 1 run, 1 loop each)"
        );
        for (seconds, text) in [
            (0.25, "250 ms"),
            (9.999e-6, "10 µs"),
            (12.34e-9, "12.3 ns"),
            (999.6e-6, "1 ms"),
        ] {
            assert_eq!(short_time(seconds), text);
        }
    }

    #[test]
    fn the_code_runs_as_often_as_said_and_sees_all_variables() {
        let mut count = 0;
        let timing = crate::timeit!(-r 3 -n 4 let step = 1; count += step;);
        assert_eq!((count, timing.loops()), (12, 4));
    }

    #[test]
    fn slow_code_is_not_repeated_within_a_run() {
        let mut count = 0;
        let timing = crate::timeit!(-r 2 {
            count += 1;
            std::thread::sleep(LONG_ENOUGH);
        });
        // One run to find the number of repetitions.
        assert_eq!((count, timing.loops()), (3, 1));
    }
}
