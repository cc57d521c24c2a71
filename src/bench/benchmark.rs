//! Repeats a measurement, and reports the median and the spread.

use super::outcome::Outcome;
use super::stopwatch::Stopwatch;
use crate::erased::outlined;
use crate::error::{Error, Result};
use crate::notebook::digits::{TIMES, three_digits};
use crate::notebook::{Show, Table, check_interrupt, show_as_table};
use crate::plot::{Figure, bar};
use candle_core::Device;
use std::time::{Duration, Instant};

/// The least number of runs that are not counted: meanwhile memory is allocated, kernels are loaded,
/// caches fill, and cores raise their clock.
const WARM_UPS: usize = 3;
/// The least time of the runs that are not counted.
const WARM: Duration = Duration::from_millis(100);
/// The number of measured runs: enough for a median.
const RUNS: usize = 30;
/// The least number of measured runs, for slow work.
const LEAST_RUNS: usize = 5;
/// The time after which no further run begins, except for the least number of runs.
const LONG_ENOUGH: Duration = Duration::from_secs(2);

/// The times of a piece of work, one per run. Returned by [`benchmark`].
///
/// ```
/// use taper::prelude::*;
///
/// let timing: Timing = benchmark("exp", &cpu(), || ones(1000).exp())?;
/// assert!(timing.quartiles().0 <= timing.median());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Timing {
    label: String,
    /// The time of each run, sorted from the shortest to the longest.
    runs: Vec<Duration>,
}

/// Measures how long `work` takes on a device.
///
/// Warms up for a tenth of a second and at least three runs. Then measures 30 runs, or fewer (but at
/// least 5) if they take longer than two seconds. Each run lasts until the device has finished.
///
/// # Errors
/// Returns the error of `work`, or an error if the user interrupts the cell.
///
/// ```
/// use taper::prelude::*;
///
/// let mut timings = Timings::new();
/// for device in try_all_gpus() {
///     for batch_size in [16, 64] {
///         let x = rand((batch_size, 100)).to_device(&device);
///         let w = rand((100, 100)).to_device(&device);
///         let label = format!("{} × {batch_size}", device.label());
///         timings.push(benchmark(label, &device, || x.matmul(&w))?);
///     }
/// }
/// assert!(timings.show_text().starts_with("work"));
/// # Ok::<(), Error>(())
/// ```
pub fn benchmark<T: Outcome>(
    label: impl Into<String>,
    device: &Device,
    mut work: impl FnMut() -> T,
) -> Result<Timing> {
    let mut outcome = None;
    measured(label.into(), device, &mut |phase| match phase {
        Phase::Work => {
            outcome = Some(work());
            None
        }
        Phase::Check => outcome.take().and_then(Outcome::failure),
    })
}

/// What the work that is measured does.
enum Phase {
    /// The work, which keeps its result.
    Work,
    /// Returns the error of the last result, which is dropped.
    Check,
}

fn measured(
    label: String,
    device: &Device,
    work: &mut dyn FnMut(Phase) -> Option<Error>,
) -> Result<Timing> {
    let mut run = || {
        check_interrupt()?;
        let watch = Stopwatch::start(device)?;
        work(Phase::Work);
        let elapsed = watch.elapsed()?;
        // After the measurement, because it drops the result.
        match work(Phase::Check) {
            None => Ok(elapsed),
            Some(error) => Err(error),
        }
    };
    let begin = Instant::now();
    let mut warm_ups = 0;
    while warm_ups < WARM_UPS || begin.elapsed() < WARM {
        run()?;
        warm_ups += 1;
    }
    let begin = Instant::now();
    let mut runs = Vec::with_capacity(RUNS);
    while runs.len() < RUNS && (runs.len() < LEAST_RUNS || begin.elapsed() < LONG_ENOUGH) {
        runs.push(run()?);
    }
    runs.sort();
    Ok(Timing { label, runs })
}

impl Timing {
    /// Returns the name of the work that was measured.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(benchmark("nothing", &cpu(), || ())?.label(), "nothing");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the median time.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let timing = benchmark("nothing", &cpu(), || ())?;
    /// assert!(timing.median().as_secs_f64() < 1.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn median(&self) -> Duration {
        self.runs[self.runs.len() / 2]
    }

    /// Returns the lower and the upper quartile: half of the runs lie between them.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (low, high) = benchmark("nothing", &cpu(), || ())?.quartiles();
    /// assert!(low <= high);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn quartiles(&self) -> (Duration, Duration) {
        let n = self.runs.len();
        (self.runs[n / 4], self.runs[n * 3 / 4])
    }

    /// Returns the number of measured runs.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(benchmark("nothing", &cpu(), || ())?.num_runs(), 30);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn num_runs(&self) -> usize {
        self.runs.len()
    }

    /// Formats label, median, quartiles and number of runs.
    fn row(&self) -> [String; 4] {
        let (low, high) = self.quartiles();
        [
            self.label.clone(),
            readable_time(self.median()),
            format!("{} – {}", readable_time(low), readable_time(high)),
            self.runs.len().to_string(),
        ]
    }
}

impl Show for Timing {
    fn show_text(&self) -> String {
        let [label, median, spread, runs] = self.row();
        format!("{label}: {median} (half of {runs} runs: {spread})")
    }
}

/// A list of measurements, shown as a table.
///
/// ```
/// use taper::prelude::*;
///
/// let mut timings = Timings::new();
/// timings.push(benchmark("nothing", &cpu(), || ())?);
/// assert_eq!(timings.milliseconds().len(), 1); // for plot and bar
/// # Ok::<(), Error>(())
/// ```
#[derive(Default)]
pub struct Timings {
    timings: Vec<Timing>,
    note: Option<String>,
}

const HEADER: [&str; 4] = ["work", "median", "middle half", "runs"];

outlined!(Clone Debug for Timings { timings, note });

impl Timings {
    /// Creates an empty list.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(Timings::new().milliseconds().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a measurement.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut timings = Timings::new();
    /// timings.push(benchmark("nothing", &cpu(), || ())?);
    /// assert_eq!(timings.show_text().lines().count(), 2); // a header and a row
    /// # Ok::<(), Error>(())
    /// ```
    pub fn push(&mut self, timing: Timing) {
        self.timings.push(timing);
    }

    /// Returns the medians in milliseconds, one per measurement.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut timings = Timings::new();
    /// timings.push(benchmark("nothing", &cpu(), || ())?);
    /// let figure = bar(["nothing"], &[&timings.milliseconds()]).ylabel("ms");
    /// assert!(figure.show_text().starts_with("ms over x\nseries 1: nothing "));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn milliseconds(&self) -> Vec<f64> {
        let medians = self.timings.iter().map(Timing::median);
        medians.map(|median| median.as_secs_f64() * 1e3).collect()
    }

    /// Draws the medians as a bar chart.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut timings = Timings::new();
    /// timings.push(benchmark("nothing", &cpu(), || ())?);
    /// assert!(timings.plot().svg().contains("nothing"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn plot(&self) -> Figure {
        let labels = self.timings.iter().map(|timing| timing.label.as_str());
        bar(labels, &[&self.milliseconds()]).ylabel("ms")
    }

    /// Adds a note below the table.
    pub(crate) fn with_note(mut self, note: Option<String>) -> Self {
        self.note = note;
        self
    }

    fn table(&self) -> Table {
        let mut table = Table::new(HEADER).right(1..4).note(self.note.clone());
        let rows = self.timings.iter().map(Timing::row);
        rows.for_each(|row| table.push(row));
        table
    }
}

show_as_table!(Timings);

/// Formats a time with three significant digits: `1.23 ms`, `45.6 µs`.
pub(super) fn readable_time(time: Duration) -> String {
    let (text, unit) = three_digits(time.as_nanos() as f64, &TIMES);
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_significant_digits() {
        let shown = [7, 1_230, 45_600, 1_234_567, 250_000_000, 2_000_000_000]
            .map(|n| readable_time(Duration::from_nanos(n)));
        assert_eq!(
            shown,
            ["7 ns", "1.23 µs", "45.6 µs", "1.23 ms", "250 ms", "2.00 s"]
        );
        let rounded = [9_996, 99_970_000, 999_600].map(|n| readable_time(Duration::from_nanos(n)));
        assert_eq!(rounded, ["10.0 µs", "100 ms", "1.00 ms"]);
    }

    #[test]
    fn work_is_warmed_up_repeated_and_shown_as_a_table() {
        let mut count = 0;
        let timing = benchmark("a <b>", &Device::Cpu, || {
            count += 1;
            std::thread::sleep(Duration::from_micros(200));
        });
        let timing = timing.unwrap();
        assert_eq!(timing.num_runs(), RUNS);
        // Of these, some are the warm-up; on a busy machine, sleeping takes longer.
        assert!(count > RUNS, "{count}");
        assert!(timing.median() >= Duration::from_micros(200));
        let mut timings = Timings::new();
        timings.push(timing);
        let bundle = timings.show_bundle();
        assert!(
            bundle
                .get("text/html")
                .is_some_and(|html| html.contains("a &lt;b&gt;"))
        );
        assert_eq!(timings.show_text().lines().count(), 2);
    }

    #[test]
    fn an_error_of_the_work_is_returned() {
        let failed = benchmark("", &Device::Cpu, || -> Result<()> { Err(Error::msg("no")) });
        assert!(failed.unwrap_err().to_string().contains("no"));
    }
}
