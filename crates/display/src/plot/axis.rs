//! Axes: they map values to coordinates and choose the ticks.

use super::number::{decade, finite_range, scientific};
use super::render::text::{FONT, shortened_to, text_width};
use crate::notebook::columns;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// The scale of an axis.
///
/// ```
/// use taper::prelude::*;
///
/// let figure = plot(&(0..3), &[&[1, 10, 100]]).yscale(Scale::Log);
/// assert!(figure.svg().contains(">10</text>"));
/// assert_eq!(Scale::default(), Scale::Linear);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances are equal differences.
    #[default]
    Linear,
    /// Equal distances are equal ratios. Values that are not positive leave a gap.
    Log,
}

impl Scale {
    /// Returns whether the scale can show the value.
    pub(super) fn contains(self, value: f64) -> bool {
        // The logarithm of a subnormal number cannot be inverted exactly.
        value.is_finite() && (self == Scale::Linear || value >= f64::MIN_POSITIVE)
    }

    fn apply(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log => value.log10(),
        }
    }

    fn invert(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log => 10_f64.powf(value),
        }
    }
}

/// The settings of an axis.
#[derive(Clone, Debug, Default)]
pub(super) struct AxisSpec {
    pub(super) label: String,
    pub(super) scale: Scale,
    /// Set by the user; `None` if they follow from the data.
    pub(super) limits: Option<(f64, f64)>,
    /// Tick labels for the positions 0, 1, 2, …; empty for an axis of values.
    pub(super) categories: Vec<String>,
}

/// An axis with its limits. Plotters uses it as a coordinate.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    /// The value and the label of each tick.
    ticks: Vec<(f64, String)>,
}

/// The margin between the data and the limits, as a fraction of the range of the data.
const MARGIN: f64 = 0.04;

impl Axis {
    /// Creates an axis that shows all values its scale contains, with at most about `max_ticks` ticks.
    pub(super) fn new(
        spec: &AxisSpec,
        values: impl Iterator<Item = f64>,
        max_ticks: usize,
    ) -> Axis {
        let scale = spec.scale;
        if !spec.categories.is_empty() {
            return Axis::categorical(&spec.categories, max_ticks);
        }
        let (low, high) = spec
            .limits
            .filter(|&(a, b)| scale.contains(a) && scale.contains(b) && a != b)
            .map(|(a, b)| (a.min(b), a.max(b)))
            .unwrap_or_else(|| range_with_margin(scale, values));
        let mut ticks = match scale {
            Scale::Linear => Vec::new(),
            Scale::Log => log_ticks(low, high, max_ticks),
        };
        if ticks.len() < 2 {
            ticks = linear_ticks(low, high, max_ticks);
        }
        Axis {
            scale,
            low,
            high,
            ticks,
        }
    }

    /// Creates an axis with a position for each name. Shortens names that would overlap; if that
    /// leaves too little of them, writes only every second, third, … name.
    fn categorical(names: &[String], max_ticks: usize) -> Axis {
        let longest = names.iter().map(|name| columns(name)).max();
        // A tick has room for about eight letters.
        let fitting = max_ticks * 8 / names.len();
        let letters = longest.unwrap_or(1).max(1).min(match fitting {
            0..6 => 9,
            _ => fitting,
        });
        let room = (max_ticks * 8 / letters).max(1);
        let stride = names.len().div_ceil(room);
        let ticks = names.iter().enumerate().step_by(stride);
        Axis {
            scale: Scale::Linear,
            low: -0.55,
            high: names.len() as f64 - 0.45,
            ticks: ticks
                .map(|(i, name)| (i as f64, shortened_to(name, letters)))
                .collect(),
        }
    }

    /// Returns the value and the label of each tick.
    pub(super) fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
    }

    /// Returns how far the last label extends beyond the end of an axis of this length.
    pub(super) fn overhang(&self, length: i32) -> i32 {
        let last = self.ticks.last();
        last.map_or(0, |(tick, label)| {
            self.map(tick, (0, length)) + text_width(label, FONT) / 2 - length
        })
    }

    /// Returns the labels of the ticks.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.ticks.iter().map(|(_, label)| label.as_str())
    }
}

/// Returns the range of the values with a margin. If there is no value, or only one, returns a range
/// of a sensible size.
fn range_with_margin(scale: Scale, values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values = values.filter(|&value| scale.contains(value));
    let found = finite_range(values.map(|value| scale.apply(value)));
    let (low, high) = found.unwrap_or((0.0, 1.0));
    // The difference of two values may overflow; half of it cannot.
    let half = high / 2.0 - low / 2.0;
    let resolution = low.abs().max(high.abs()) * 1e-12;
    let margin = if half > resolution {
        2.0 * half * MARGIN
    } else {
        (low.abs() * 0.1).max(0.5)
    };
    let limit = |value: f64| value.clamp(f64::MIN / 2.0, f64::MAX / 2.0);
    let (low, high) = (
        limit(scale.invert(low - margin)),
        limit(scale.invert(high + margin)),
    );
    match scale {
        Scale::Linear => (low, high),
        Scale::Log => (low.max(f64::MIN_POSITIVE), high),
    }
}

/// Returns ticks at multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks(low: f64, high: f64, max_ticks: usize) -> Vec<(f64, String)> {
    let min_step = (high - low) / max_ticks.max(1) as f64;
    let exponent = decade(min_step);
    let Some((digit, step)) = [1.0, 2.0, 5.0, 10.0]
        .map(|digit| (digit, digit * 10_f64.powi(exponent)))
        .into_iter()
        .find(|(_, step)| *step >= min_step && *step > 0.0)
    else {
        return Vec::new();
    };
    let exponent = if digit == 10.0 {
        exponent + 1
    } else {
        exponent
    };
    let first = (low / step).ceil();
    (0..=max_ticks)
        .map(|i| (first + i as f64) * step)
        .filter(|&tick| tick <= high)
        .map(|tick| (tick, linear_label(tick, exponent, low, high)))
        .collect()
}

/// Formats a tick with as many decimals as the step between two ticks needs, so that all labels have
/// the same number of decimals.
fn linear_label(tick: f64, exponent: i32, low: f64, high: f64) -> String {
    let largest = decade(low.abs().max(high.abs()));
    if exponent >= -5 && largest < 6 {
        format!("{tick:.*}", (-exponent).max(0) as usize)
    } else if tick == 0.0 {
        "0".to_owned()
    } else {
        scientific(tick, (decade(tick) - exponent).clamp(0, 15) as usize)
    }
}

/// Returns ticks at powers of ten and, if these are few, also at 2 and 5 times powers of ten.
fn log_ticks(low: f64, high: f64, max_ticks: usize) -> Vec<(f64, String)> {
    let (first, last) = (decade(low), decade(high));
    let stride = ((last - first) as usize / max_ticks.max(1) + 1) as i32;
    let digits: &[f64] = if last - first <= 2 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    (first..=last)
        .filter(|exponent| exponent % stride == 0)
        .flat_map(|exponent| {
            // Parsed: a product would not be the floating-point number nearest to the label.
            digits
                .iter()
                .map(move |digit| format!("{digit}e{exponent}").parse().unwrap_or(1.0))
        })
        .filter(|&tick| low <= tick && tick <= high)
        .map(|tick| (tick, log_label(tick)))
        .collect()
}

fn log_label(tick: f64) -> String {
    if (0.001..10_000.0).contains(&tick) {
        tick.to_string()
    } else {
        scientific(tick, 0)
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    /// Maps a value that the scale contains. Clamps values far outside, so that they fit `i32`.
    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        let [value, low, high] = [*value, self.low, self.high].map(|v| self.scale.apply(v));
        let part = ((value - low) / (high - low)).clamp(-100.0, 100.0);
        (f64::from(start) + part * f64::from(end - start)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // Plotters asks a second time for light grid lines between the ticks, which we do without.
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|&(tick, _)| tick).collect()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let label = self.ticks.iter().find(|(tick, _)| tick == value);
        label.map(|(_, label)| label.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale, limits: Option<(f64, f64)>, values: &[f64]) -> Axis {
        let spec = AxisSpec {
            scale,
            limits,
            ..AxisSpec::default()
        };
        Axis::new(&spec, values.iter().copied(), 6)
    }

    fn labels(scale: Scale, low: f64, high: f64) -> Vec<String> {
        let axis = axis(scale, Some((low, high)), &[]);
        axis.labels().map(str::to_owned).collect()
    }

    #[test]
    fn linear_ticks_are_round_numbers() {
        assert_eq!(
            labels(Scale::Linear, 0.0, 10.0),
            ["0", "2", "4", "6", "8", "10"]
        );
        assert_eq!(
            labels(Scale::Linear, 0.1, 0.52),
            ["0.1", "0.2", "0.3", "0.4", "0.5"]
        );
        assert_eq!(
            labels(Scale::Linear, -1.0, 1.0),
            ["-1.0", "-0.5", "0.0", "0.5", "1.0"]
        );
        assert_eq!(
            labels(Scale::Linear, 0.0, 5e6),
            ["0", "10⁶", "2·10⁶", "3·10⁶", "4·10⁶", "5·10⁶"]
        );
        assert_eq!(
            labels(Scale::Linear, 0.0, 4e-7),
            ["0", "10⁻⁷", "2·10⁻⁷", "3·10⁻⁷", "4·10⁻⁷"]
        );
    }

    #[test]
    fn log_ticks_are_powers_of_ten() {
        assert_eq!(
            labels(Scale::Log, 1e-5, 1.0),
            ["10⁻⁵", "10⁻⁴", "0.001", "0.01", "0.1", "1"]
        );
        assert_eq!(labels(Scale::Log, 0.9, 25.0), ["1", "2", "5", "10", "20"]);
        // Less than a decade: the ticks of a linear axis.
        assert_eq!(labels(Scale::Log, 0.31, 0.46), ["0.35", "0.40", "0.45"]);
        assert!(labels(Scale::Log, 1e-30, 1e30).len() <= 7);
    }

    #[test]
    fn values_outside_of_the_scale_do_not_stretch_the_axis() {
        let linear = axis(Scale::Linear, None, &[f64::NAN, 1.0, 2.0, f64::INFINITY]);
        assert_eq!((linear.low, linear.high), (0.96, 2.04));
        let log = axis(Scale::Log, None, &[-1.0, 0.0, 1.0, 100.0]);
        assert!(log.low > 0.5 && log.high < 200.0, "{log:?}");
    }

    #[test]
    fn invalid_limits_are_ignored() {
        for limits in [(0.0, 10.0), (5.0, 5.0), (f64::NAN, 1.0)] {
            let log = axis(Scale::Log, Some(limits), &[1.0, 10.0]);
            assert!(log.low > 0.5 && log.high < 20.0, "{limits:?}: {log:?}");
        }
        let swapped = axis(Scale::Linear, Some((3.0, 1.0)), &[]);
        assert_eq!((swapped.low, swapped.high), (1.0, 3.0));
    }

    #[test]
    fn every_range_has_two_limits_and_few_ticks() {
        let extremes = [
            &[][..],
            &[0.0],
            &[1e300],
            &[-1e-300],
            &[-8e307, 8e307],
            &[5e-324, 1e-323],
            &[1e16, 1e16 + 2.0],
            &[1.0, 1.0 + f64::EPSILON],
        ];
        for values in extremes {
            for scale in [Scale::Linear, Scale::Log] {
                let axis = axis(scale, None, values);
                assert!(axis.low < axis.high, "{values:?}: {axis:?}");
                assert!(axis.ticks.len() <= 8, "{values:?}: {axis:?}");
                for value in values.iter().filter(|&&value| scale.contains(value)) {
                    let x = axis.map(value, (0, 1000));
                    assert!((0..=1000).contains(&x), "{values:?} {x}: {axis:?}");
                }
            }
        }
    }
}
