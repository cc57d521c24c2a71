//! A table of measurements, one row for each size.

use super::benchmark::{Timing, readable_time};
use crate::erased::outlined;
use crate::error::{Result, refuse};
use crate::notebook::digits::three_digits;
use crate::notebook::{Table, debug_as_shown, show_as_table};
use crate::plot::{Figure, Scale, Values, plot};

/// Measurements for several sizes: a table, a plot and the values themselves.
///
/// Returned by [`compare_devices`](super::compare_devices),
/// [`compare_batch_sizes`](super::compare_batch_sizes) and
/// [`compare_transfers`](super::compare_transfers).
///
/// ```
/// use taper::prelude::*;
///
/// let table = compare_devices(&[10, 100], |n| rand(n), |x| x.exp())?;
/// assert_eq!(table.sizes(), [10, 100]);
/// assert!(table.values("cpu")?[0] < 1.0); // seconds
/// # Ok::<(), Error>(())
/// ```
pub struct Comparison {
    /// The header of the column of sizes, such as `"batch size"`.
    size_name: String,
    sizes: Vec<usize>,
    columns: Vec<Column>,
    note: Option<String>,
}

/// One value for each size.
#[derive(Clone)]
pub(super) struct Column {
    name: String,
    unit: Unit,
    values: Vec<f64>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Unit {
    Seconds,
    /// Units per second; holds the label of the axis.
    Rate(&'static str),
    /// A fraction from 0 to 1.
    Share,
    /// A ratio of two times.
    Ratio,
}

outlined!(Clone for Comparison { size_name, sizes, columns, note });

impl Comparison {
    pub(super) fn new(size: &str, sizes: &[usize], columns: Vec<Column>) -> Self {
        Self {
            size_name: size.to_owned(),
            sizes: sizes.to_vec(),
            columns,
            note: None,
        }
    }

    pub(super) fn with_note(mut self, note: Option<String>) -> Self {
        self.note = note;
        self
    }

    /// Returns the measured sizes.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(compare_transfers(&cpu(), &[100])?.sizes(), [100]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns the values of the column with this header, one for each size: seconds, units per
    /// second, fractions from 0 to 1, or ratios.
    ///
    /// # Errors
    /// Returns an error if there is no such column; the message lists the columns.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let copies = compare_transfers(&cpu(), &[1000])?;
    /// let bytes_per_second = copies.values("copy, speed")?[0];
    /// assert!(bytes_per_second > 0.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn values(&self, header: &str) -> Result<Vec<f64>> {
        match self.columns.iter().find(|column| column.name == header) {
            Some(column) => Ok(column.values.clone()),
            None => {
                let names: Vec<&str> = self.columns.iter().map(|c| c.name.as_str()).collect();
                refuse!("no column named {header:?}"; ("Choose one of: {}", names.join(", ")))
            }
        }
    }

    /// Draws the speeds over the sizes, one line for each device, or the times if there are no speeds.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let figure = compare_transfers(&cpu(), &[1_000, 10_000, 100_000])?.plot();
    /// assert!(figure.svg().contains("copy"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn plot(&self) -> Figure {
        let rate = self
            .columns
            .iter()
            .find(|c| matches!(c.unit, Unit::Rate(_)));
        let (unit, label) = match rate.map(|column| column.unit) {
            Some(Unit::Rate(label)) => (Unit::Rate(label), label),
            _ => (Unit::Seconds, "seconds"),
        };
        let shown: Vec<&Column> = self.columns.iter().filter(|c| c.unit == unit).collect();
        let lines: Vec<&dyn Values> = shown.iter().map(|c| &c.values as &dyn Values).collect();
        plot(&self.sizes, &lines)
            .legend(shown.iter().map(|column| column.name.as_str()))
            .xlabel(self.size_name.as_str())
            .ylabel(label)
            .xscale(Scale::Log)
            .yscale(Scale::Log)
            .markers()
    }

    fn table(&self) -> Table {
        let headers = self.columns.iter().map(|column| column.name.clone());
        let table = Table::new([self.size_name.clone()].into_iter().chain(headers));
        let mut table = table.right(0..=self.columns.len()).note(self.note.clone());
        for (i, &size) in self.sizes.iter().enumerate() {
            let size = match self.size_name.as_str() {
                "bytes" => prefixed(size as f64, "B"),
                _ => size.to_string(),
            };
            let cells = self.columns.iter().map(|c| c.unit.format(c.values[i]));
            table.push([size].into_iter().chain(cells).collect::<Vec<_>>());
        }
        table
    }
}

impl Column {
    /// Creates a column of median times.
    pub(super) fn times(name: impl Into<String>, timings: &[Timing]) -> Self {
        Self {
            name: name.into(),
            unit: Unit::Seconds,
            values: timings.iter().map(|t| t.median().as_secs_f64()).collect(),
        }
    }

    /// Converts times to speeds: divides `done` by each time.
    pub(super) fn per_second(&self, name: String, unit: Unit, done: &[usize]) -> Self {
        let values = done.iter().zip(&self.values);
        Self {
            name,
            unit,
            values: values.map(|(&n, time)| n as f64 / time.max(1e-9)).collect(),
        }
    }

    pub(super) fn share_of(&self, whole: &Self, name: &str) -> Self {
        Self {
            unit: Unit::Share,
            ..self.ratio_to(whole, name)
        }
    }

    pub(super) fn ratio_to(&self, other: &Self, name: &str) -> Self {
        let values = self.values.iter().zip(&other.values);
        Self {
            name: name.to_owned(),
            unit: Unit::Ratio,
            values: values.map(|(a, b)| a / b.max(1e-12)).collect(),
        }
    }
}

impl Unit {
    fn format(self, value: f64) -> String {
        match self {
            Unit::Seconds => readable_time(std::time::Duration::from_secs_f64(value)),
            Unit::Rate("B/s") => prefixed(value, "B/s"),
            Unit::Rate(_) => format!("{value:.0}"),
            Unit::Share => format!("{:.0} %", value * 100.0),
            Unit::Ratio => format!("{value:.2}×"),
        }
    }
}

/// Formats a value with three significant digits and a metric prefix: `1.23 MB`.
fn prefixed(value: f64, unit: &str) -> String {
    let (text, prefix) = three_digits(value, &["", "k", "M", "G", "T"]);
    format!("{text} {prefix}{unit}")
}

show_as_table!(Comparison);
debug_as_shown!(Comparison);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::Show;

    #[test]
    fn sizes_have_three_significant_digits() {
        let shown = [1e3, 9_996.0, 99_970.0, 999_600.0, 1e6].map(|value| prefixed(value, "B"));
        assert_eq!(
            shown,
            ["1.00 kB", "10.0 kB", "100 kB", "1.00 MB", "1.00 MB"]
        );
    }

    #[test]
    fn a_table_shows_readable_units_and_its_note() {
        let column = |name: &str, unit, values: [f64; 2]| Column {
            name: name.to_owned(),
            unit,
            values: values.to_vec(),
        };
        let columns = vec![
            column("cpu", Unit::Seconds, [1e-6, 0.25]),
            column("speed", Unit::Rate("B/s"), [999.0, 12.34e9]),
            column("share", Unit::Share, [0.5, 0.031]),
            column("times", Unit::Ratio, [2.0, 0.5]),
        ];
        let table = Comparison::new("bytes", &[1, 1_000_000], columns);
        let table = table.with_note(Some("No <GPU>".to_owned()));
        assert_eq!(
            table.show_text(),
            "  bytes      cpu      speed  share  times
    1 B  1.00 µs    999 B/s   50 %  2.00×
1.00 MB   250 ms  12.3 GB/s    3 %  0.50×
No <GPU>"
        );
        let bundle = table.show_bundle();
        assert!(
            bundle
                .get("text/html")
                .is_some_and(|html| html.contains("<p>No &lt;GPU&gt;</p>"))
        );
        assert!(
            table
                .plot()
                .show_text()
                .contains("speed: 1.234·10¹⁰ at 1000000")
        );
        let message = table.values("gpu").unwrap_err().to_string();
        assert!(
            message.ends_with("Choose one of: cpu, speed, share, times"),
            "{message}"
        );
    }
}
