//! The bins of a histogram.

use crate::error::{Result, refuse};
use crate::plot::chart::{Series, Style};

/// The maximum number of bins: no screen has room for more bars.
const MOST: usize = 1 << 16;

/// Returns a series with one bar for each bin.
pub(super) fn count(values: &[f64], bins: usize) -> Result<Series> {
    refuse!(if !(1..=MOST).contains(&bins); argument("histogram", bins);
        "from 1 to {MOST} bins", "Choose a few tens of bins, such as 30");
    // The difference of `f64::MAX` and `f64::MIN` would overflow.
    let clamped = |value: &f64| value.clamp(f64::MIN / 2.0, f64::MAX / 2.0);
    let finite = || values.iter().filter(|value| value.is_finite()).map(clamped);
    let low = finite().fold(f64::INFINITY, f64::min);
    let high = finite().fold(f64::NEG_INFINITY, f64::max);
    let resolution = (low.abs().max(high.abs()) * 1e-12).max(f64::MIN_POSITIVE);
    // A single value is in the middle of the bins.
    let (low, high) = match high - low {
        range if range > resolution => (low, high),
        range if range >= 0.0 => (low - resolution.max(0.5), high + resolution.max(0.5)),
        _ => (0.0, 1.0),
    };
    let width = (high - low) / bins as f64;
    let mut counts = vec![0_u32; bins];
    for value in finite() {
        let bin = ((value - low) / width) as usize;
        counts[bin.min(bins - 1)] += 1;
    }
    let points = counts.into_iter().enumerate();
    let points = points.map(|(i, count)| (low + (i as f64 + 0.5) * width, f64::from(count)));
    Ok(Series {
        style: Style::Bars { offset: 0.0, width },
        ..Series::new("", points.collect())
    })
}
