//! The lines of a summary, and of the table of what layers have taken.

use crate::nn::{Parameters, state, state_of};
use crate::notebook::Table;
use crate::notebook::digits::three_digits;
use std::time::Duration;

/// A line of a summary.
#[derive(Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) layer: String,
    pub(crate) output: Vec<usize>,
    pub(super) parameters: usize,
}

impl Row {
    pub(super) fn of(layer: &dyn Parameters, output: &[usize]) -> Self {
        let description = layer.describe();
        let name = description.split('(').next().unwrap_or_default();
        Self {
            layer: name.to_owned(),
            output: output.to_vec(),
            parameters: state::count(&state_of(layer)),
        }
    }

    /// Returns the layer, its output and its parameters in words.
    pub(super) fn words(&self) -> [String; 3] {
        let dims: Vec<String> = self.output.iter().map(usize::to_string).collect();
        let shape = format!("({})", dims.join(", "));
        [self.layer.clone(), shape, self.parameters.to_string()]
    }
}

/// What the calls of a layer have taken.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Cost {
    pub(super) calls: u64,
    pub(super) multiply_adds: u64,
    pub(super) forward: Duration,
    /// `None` where no backward pass came to the layer.
    pub(super) back: Option<Duration>,
    /// The most bytes that a call has left allocated: the output, and what the backward pass needs.
    pub(super) memory: Option<i64>,
}

/// The columns of [`Cost::words`].
pub(super) const COSTS: [&str; 4] = ["multiply-adds", "forward ms", "back ms", "memory"];

impl Cost {
    pub(super) fn words(&self) -> [String; 4] {
        [
            scaled(self.multiply_adds, ["", " k", " M", " G"]),
            milliseconds(self.forward),
            self.back.map_or(String::new(), milliseconds),
            self.memory.map_or(String::new(), |memory| {
                scaled(memory.max(0) as u64, [" B", " kB", " MB", " GB"])
            }),
        ]
    }

    /// Returns what all of them have taken together.
    pub(super) fn sum<'a>(costs: impl Iterator<Item = &'a Cost>) -> Cost {
        let add = |sum: Cost, one: &Cost| Cost {
            calls: sum.calls + one.calls,
            multiply_adds: sum.multiply_adds + one.multiply_adds,
            forward: sum.forward + one.forward,
            back: one
                .back
                .map_or(sum.back, |back| Some(sum.back.unwrap_or_default() + back)),
            memory: one.memory.map_or(sum.memory, |memory| {
                Some(sum.memory.unwrap_or_default() + memory)
            }),
        };
        costs.fold(Cost::default(), add)
    }
}

/// Returns the table of layers, with what they took if that was measured; the last line has the sums. `total` is the number of parameters of a
/// model; without it, the table is that of a cell, which may have called each layer several times.
pub(super) fn layer_table(rows: &[Row], costs: &[Cost], total: Option<usize>) -> Table {
    let (is_measured, has_calls) = (!costs.is_empty() || total.is_none(), total.is_none());
    let mut header = vec!["layer", "output shape", "parameters"];
    header.extend(has_calls.then_some("calls"));
    header.extend(is_measured.then_some(COSTS).iter().flatten());
    // Readers look for one layer of a deep network, so no rows are left out.
    let mut table = Table::new(header).whole().right(2..8);
    let mut push = |words: [String; 3], calls: String, cost: &Cost| {
        let mut line = words.to_vec();
        line.extend(has_calls.then_some(calls));
        line.extend(is_measured.then(|| cost.words()).into_iter().flatten());
        table.push(line);
    };
    let sum = Cost::sum(costs.iter());
    for (i, row) in rows.iter().enumerate() {
        let cost = costs.get(i).unwrap_or(&sum);
        push(row.words(), cost.calls.to_string(), cost);
    }
    let total = total.map_or(String::new(), |total| total.to_string());
    push(
        ["total".to_owned(), String::new(), total],
        String::new(),
        &sum,
    );
    // The lines of a wide text are broken on a narrow screen.
    table.with_html(is_measured)
}

/// Returns a count with three digits, and one of these units.
fn scaled(count: u64, units: [&str; 4]) -> String {
    let (text, unit) = three_digits(count as f64, &units);
    text + unit
}

fn milliseconds(time: Duration) -> String {
    with_digits(time.as_secs_f64() * 1e3)
}

/// Returns a value with about three digits.
fn with_digits(value: f64) -> String {
    match value {
        value if value < 0.995 => format!("{value:.3}"),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_units() {
        let units = ["", " k", " M", " G"];
        for (count, shown) in [
            (0, "0"),
            (999, "999"),
            (1000, "1.00 k"),
            (999_700, "1.00 M"),
            (25_330_000_000_000, "25330 G"),
        ] {
            assert_eq!(scaled(count, units), shown);
        }
        assert_eq!(milliseconds(Duration::from_micros(12)), "0.012");
        assert_eq!(milliseconds(Duration::from_micros(123_456)), "123");
    }
}
