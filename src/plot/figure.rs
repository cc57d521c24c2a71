//! Charts of data that are there already.

use super::axis::Scale;
use super::chart::{Chart, Mark, Series};
use super::number::Number;
use super::render::output::{self, Graphic};
use super::render::scene::Scene;
use super::values::Values;
use crate::error::{Result, explain};
use crate::notebook::Show;
use crate::notebook::{MimeBundle, display};
use std::path::Path;

/// A chart: lines, points or bars over two axes. As the value of a cell it is shown.
///
/// Made by [`plot`], [`scatter`], [`bar`] and [`histogram`]. It is an SVG picture: it reads on white
/// and on dark pages, its colours are safe for colour-blind readers, and series differ in dashes or
/// in the shape of their points as well.
///
/// Where the numbers do not fit together, the picture's place says what is wrong, and
/// [`save`](Figure::save) is an error.
///
/// ```
/// use taper::prelude::*;
///
/// let xs = linspace(0.0, 6.3, 200, &cpu())?;
/// let (sin, cos) = (xs.sin()?, xs.cos()?);
/// let figure: Figure = plot(&xs, &[&sin, &cos]).legend(["sin", "cos"]).title("two waves");
/// # let path = std::env::temp_dir().join(format!("taper_waves_{}.svg", std::process::id()));
/// figure.save(&path)?;
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a picture is shown as the value of a cell, or by .show()"]
pub struct Figure {
    chart: Chart,
    /// What is wrong, and what to do.
    problem: Option<String>,
}

/// Draws a line for each of `ys` over the same `x`.
///
/// Numbers come as vectors, arrays, slices, ranges or tensors. What is not finite leaves a gap.
///
/// ```
/// use taper::prelude::*;
///
/// let epochs = [1, 2, 3, 4];
/// let figure = plot(&epochs, &[&[0.9, 0.5, 0.3, 0.2], &[1.0, 0.7, 0.6, 0.6]])
///     .legend(["train", "val"])
///     .xlabel("epoch")
///     .ylabel("loss")
///     .markers();
/// assert_eq!(
///     figure.show_text(),
///     "loss over epoch\ntrain: 0.2 at 4 (4 points)\nval: 0.6 at 4 (4 points)"
/// );
/// ```
pub fn plot(x: &dyn Values, ys: &[&dyn Values]) -> Figure {
    Figure::new(series("plot", x, ys, Mark::Line))
}

/// Draws a point for each pair of numbers, for each of `ys` in a colour and shape of its own.
///
/// ```
/// use taper::prelude::*;
///
/// let x = randn(500, &cpu())?;
/// let noise = randn(500, &cpu())?;
/// let y = ((&x * 2.0)? + noise)?;
/// let figure = scatter(&x, &[&y]).xlabel("feature").ylabel("target");
/// # Ok::<(), Error>(())
/// ```
pub fn scatter(x: &dyn Values, ys: &[&dyn Values]) -> Figure {
    Figure::new(series("scatter", x, ys, Mark::Points))
}

/// Draws a bar for each label; with several `ys`, as many bars beside each other.
///
/// ```
/// use taper::prelude::*;
///
/// let figure = bar(["64", "256"], &[&[2.0, 7.5], &[0.4, 0.6]])
///     .legend(["cpu", "gpu"])
///     .xlabel("batch size")
///     .ylabel("ms");
/// assert_eq!(
///     figure.show_text(),
///     "ms over batch size\ncpu: 64 2, 256 7.5\ngpu: 64 0.4, 256 0.6"
/// );
/// ```
pub fn bar<L: Into<String>>(labels: impl IntoIterator<Item = L>, ys: &[&dyn Values]) -> Figure {
    let labels: Vec<String> = labels.into_iter().map(Into::into).collect();
    let places: Vec<usize> = (0..labels.len()).collect();
    let series = series("bar", &places, ys, Mark::Line).map(|mut all| {
        let width = 0.8 / all.len().max(1) as f64;
        for (i, series) in all.iter_mut().enumerate() {
            let offset = (i as f64 + 0.5) * width - 0.4;
            series.mark = Mark::Bars { offset, width };
        }
        all
    });
    let mut figure = Figure::new(series);
    let letters = labels.iter().map(|label| label.chars().count() + 2).max();
    let width = 60 + 7 * letters.unwrap_or(0) as u32 * labels.len() as u32;
    figure.chart.size.0 = width.clamp(350, 900);
    figure.chart.x.categories = labels;
    figure
}

/// Counts how many values lie in each of `bins` ranges of equal width, and draws a bar for each.
///
/// What is not finite is left out.
///
/// ```
/// use taper::prelude::*;
///
/// let weights = randn((100, 100), &cpu())?;
/// let figure = histogram(&weights, 30).xlabel("weight");
/// assert!(figure.show_text().starts_with("count over weight\n"));
/// # Ok::<(), Error>(())
/// ```
pub fn histogram(values: &dyn Values, bins: usize) -> Figure {
    let counted = values.values().and_then(|values| match bins {
        0 => Err(explain(
            "histogram: the number of bins is 0",
            "Ask for at least one",
        )),
        _ => Ok(vec![count(&values, bins)]),
    });
    Figure::new(counted).ylabel("count")
}

/// One series of bars, as wide as a bin.
fn count(values: &[f64], bins: usize) -> Series {
    // Half of `f64`'s range at either end: a whole range would be more than an `f64` holds.
    let clamped = |value: &f64| value.clamp(f64::MIN / 2.0, f64::MAX / 2.0);
    let finite = || values.iter().filter(|value| value.is_finite()).map(clamped);
    let low = finite().fold(f64::INFINITY, f64::min);
    let high = finite().fold(f64::NEG_INFINITY, f64::max);
    let resolution = (low.abs().max(high.abs()) * 1e-12).max(f64::MIN_POSITIVE);
    // A single value stands in the middle of its bins.
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
    Series {
        mark: Mark::Bars { offset: 0.0, width },
        ..Series::new("", points.collect())
    }
}

fn series(what: &str, x: &dyn Values, ys: &[&dyn Values], mark: Mark) -> Result<Vec<Series>> {
    let x = x.values()?;
    let mut all = Vec::new();
    for (i, y) in ys.iter().enumerate() {
        let y = y.values()?;
        if x.len() != y.len() {
            let (number, places, values) = (i + 1, x.len(), y.len());
            return Err(explain(
                format_args!("{what}: x has {places} values, but series {number} has {values}"),
                "Give as many values as there are places on the x axis",
            ));
        }
        let points = x.iter().copied().zip(y).collect();
        all.push(Series {
            mark,
            ..Series::new("", points)
        });
    }
    Ok(all)
}

impl Figure {
    fn new(series: Result<Vec<Series>>) -> Self {
        let (series, problem) = match series {
            Ok(series) => (series, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let chart = Chart {
            series,
            ..Chart::default()
        };
        Figure { chart, problem }
    }

    /// Names the series, in their order; the names stand above the picture. Series without a name
    /// have no place there.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let figure = plot(&(0..3), &[&[1, 2, 3]]).legend(["growth"]);
    /// assert_eq!(figure.show_text(), "y over x\ngrowth: 3 at 2 (3 points)");
    /// ```
    pub fn legend<L: Into<String>>(mut self, names: impl IntoIterator<Item = L>) -> Self {
        for (series, name) in self.chart.series.iter_mut().zip(names) {
            series.label = name.into();
        }
        self
    }

    /// Writes a title above the picture.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let figure = plot(&(0..3), &[&[1, 2, 3]]).title("growth");
    /// assert_eq!(figure.show_text().lines().next(), Some("growth: y over x"));
    /// ```
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.chart.title = title.into();
        self
    }

    /// Names the horizontal axis.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let figure = plot(&(0..3), &[&[1, 2, 3]]).xlabel("epoch").ylabel("loss");
    /// assert!(figure.show_text().starts_with("loss over epoch"));
    /// ```
    pub fn xlabel(mut self, label: impl Into<String>) -> Self {
        self.chart.x.label = label.into();
        self
    }

    /// Names the vertical axis; see [`xlabel`](Self::xlabel).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let figure = plot(&(0..3), &[&[1, 2, 3]]).ylabel("loss");
    /// assert!(figure.show_text().starts_with("loss over x"));
    /// ```
    pub fn ylabel(mut self, label: impl Into<String>) -> Self {
        self.chart.y.label = label.into();
        self
    }

    /// Fixes the ends of the horizontal axis. Ends that make no axis (equal, not finite, or not
    /// positive on a [`Scale::Log`]) leave it to follow the points.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let figure = plot(&(0..3), &[&[1, 2, 3]]).xlim(0, 10).ylim(0, 5);
    /// ```
    pub fn xlim(mut self, from: impl Number, to: impl Number) -> Self {
        self.chart.x.limits = Some((from.to_f64(), to.to_f64()));
        self
    }

    /// Fixes the ends of the vertical axis; see [`xlim`](Self::xlim).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let figure = plot(&(0..3), &[&[0.1, 0.5, 0.9]]).ylim(0, 1);
    /// ```
    pub fn ylim(mut self, from: impl Number, to: impl Number) -> Self {
        self.chart.y.limits = Some((from.to_f64(), to.to_f64()));
        self
    }

    /// Chooses how the horizontal axis spreads its values; linear at first.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let figure = plot(&[1, 10, 100], &[&[1, 2, 3]]).xscale(Scale::Log);
    /// ```
    pub fn xscale(mut self, scale: Scale) -> Self {
        self.chart.x.scale = scale;
        self
    }

    /// Chooses how the vertical axis spreads its values; see [`xscale`](Self::xscale).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let figure = plot(&(0..3), &[&[1, 10, 100]]).yscale(Scale::Log);
    /// ```
    pub fn yscale(mut self, scale: Scale) -> Self {
        self.chart.y.scale = scale;
        self
    }

    /// Puts a mark on every point of the lines.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let figure = plot(&(0..3), &[&[1, 4, 9]]).markers();
    /// ```
    pub fn markers(mut self) -> Self {
        for series in &mut self.chart.series {
            if series.mark == Mark::Line {
                series.mark = Mark::Marked;
            }
        }
        self
    }

    /// Chooses the size in pixels: 350 by 250 at first, at least 100 by 80.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let figure = plot(&(0..3), &[&[1, 4, 9]]).figsize(600, 300);
    /// assert!(figure.svg().contains("width=\"600\" height=\"300\""));
    /// ```
    pub fn figsize(mut self, width: u32, height: u32) -> Self {
        self.chart.size = (width.clamp(100, 4000), height.clamp(80, 4000));
        self
    }

    /// The picture as the text of an SVG file.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(plot(&(0..3), &[&[1, 4, 9]]).svg().starts_with("<svg "));
    /// ```
    pub fn svg(&self) -> String {
        output::svg(self)
    }

    /// Writes the picture to a file whose name ends in `.svg`, or in `.png`: twice as many pixels, on
    /// white. Letters that only some languages have are boxes in a PNG; SVG has all.
    ///
    /// # Errors
    /// If the numbers do not fit together, the name ends differently, or the file cannot be written.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let error = plot(&(0..3), &[&[1, 2]]).save("growth.svg").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "plot: x has 3 values, but series 1 has 2\n\
    ///      Give as many values as there are places on the x axis"
    /// );
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        output::save(self, path.as_ref())
    }

    /// Shows the picture now, where it is not the value of its cell.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// for power in 1..3 {
    ///     plot(&(0..3), &[&[0.0, 1.0, 2_f64.powi(power)]]).show();
    /// }
    /// ```
    pub fn show(&self) {
        display(&self.show_bundle());
    }
}

impl Graphic for Figure {
    fn scene(&self) -> Scene {
        self.chart.scene()
    }

    fn words(&self) -> String {
        self.chart.text()
    }

    fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }
}

impl Show for Figure {
    fn show_text(&self) -> String {
        output::text(self)
    }

    fn show_bundle(&self) -> MimeBundle {
        output::bundle(self)
    }
}

#[cfg(test)]
mod tests;
