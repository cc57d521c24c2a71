//! Charts of data that are complete: lines, points, bars, histograms.

mod bins;
mod series;

use super::axis::Scale;
use super::chart::{Chart, SIZE, Series, Style};
use super::number::Number;
use super::render::output::{Graphic, graphic};
use super::render::scene::Scene;
use super::values::Values;
use crate::erased::{Erased, outlined, texts};
use crate::error::Result;
use crate::notebook::columns;
use bins::count;
use series::series;

/// A chart with two axes: lines, points or bars. A notebook shows it as the value of a cell.
///
/// Returned by [`plot`], [`scatter`], [`bar`] and [`histogram`]. It is an SVG image for white and for
/// dark pages. Its colours are safe for colour-blind readers, and series also differ in dashes or in
/// the shape of their markers.
///
/// If the data do not fit together, the figure shows what is wrong, and [`save`](Figure::save) returns
/// an error.
///
/// ```
/// use taper::prelude::*;
///
/// let xs = linspace(0.0, 6.3, 200);
/// let (sin, cos) = (xs.sin(), xs.cos());
/// let figure: Figure = plot(&xs, &[&sin, &cos]).legend(["sin", "cos"]).title("two waves");
/// # let path = std::env::temp_dir().join(format!("taper_waves_{}.svg", std::process::id()));
/// figure.save(&path)?;
/// assert!(path.exists());
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Error>(())
/// ```
#[must_use = "a figure is shown as the value of a cell, or by .show()"]
pub struct Figure {
    chart: Erased<Chart>,
    /// The error message that is shown in place of the chart if the data cannot be drawn.
    problem: Option<String>,
}

/// Draws a line for each of `ys` over the same `x`; [`Figure::line`] adds one over another `x`.
///
/// Values are vectors, arrays, slices, ranges or tensors. A value that is not finite leaves a gap.
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
    Figure::new(series("plot", x, ys, Style::Line))
}

/// Draws a marker for each point. Each of `ys` has its own colour and shape of markers.
///
/// ```
/// use taper::prelude::*;
///
/// let x = randn(500);
/// let noise = randn(500);
/// let y = &x * 2.0 + noise;
/// let figure = scatter(&x, &[&y]).xlabel("feature").ylabel("target");
/// assert!(figure.show_text().starts_with("target over feature\nseries 1: "));
/// ```
pub fn scatter(x: &dyn Values, ys: &[&dyn Values]) -> Figure {
    Figure::new(series("scatter", x, ys, Style::Markers))
}

/// Draws a bar for each label. With several `ys`, their bars stand side by side.
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
    bars(texts(&mut labels.into_iter().map(Into::into)), ys)
}

fn bars(labels: Vec<String>, ys: &[&dyn Values]) -> Figure {
    let positions: Vec<usize> = (0..labels.len()).collect();
    let series = series("bar", &positions, ys, Style::Line).map(|mut all| {
        let width = 0.8 / all.len().max(1) as f64;
        for (i, series) in all.iter_mut().enumerate() {
            let offset = (i as f64 + 0.5) * width - 0.4;
            series.style = Style::Bars { offset, width };
        }
        all
    });
    let mut figure = Figure::new(series);
    let letters = labels.iter().map(|label| columns(label) + 2).max();
    let width = 60 + 7 * letters.unwrap_or(0) as u32 * labels.len() as u32;
    figure.chart.size.0 = width.clamp(SIZE.0, 900);
    figure.chart.x.categories = labels;
    figure
}

/// Counts the values in each of `bins` intervals of equal width, and draws a bar for each.
///
/// Values that are not finite are not counted.
///
/// ```
/// use taper::prelude::*;
///
/// let weights = randn((100, 100));
/// let figure = histogram(&weights, 30).xlabel("weight");
/// assert!(figure.show_text().starts_with("count over weight\n"));
/// ```
pub fn histogram(values: &dyn Values, bins: usize) -> Figure {
    let counted = values.values().and_then(|values| count(&values, bins));
    Figure::new(counted.map(|series| vec![series])).ylabel("count")
}

outlined!(Clone Debug for Figure { chart, problem });

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
        Figure {
            chart: Erased::new(chart),
            problem,
        }
    }

    /// Adds a line over an `x` of its own, such as a model's curve over the points of [`scatter`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let figure = scatter(&[1, 2, 4], &[&[1.1, 1.9, 4.2]])
    ///     .line(&[0, 5], &[0, 5])
    ///     .legend(["data", "model"]);
    /// assert!(figure.show_text().ends_with("data: 4.2 at 4 (3 points)\nmodel: 5 at 5 (2 points)"));
    /// ```
    pub fn line(self, x: &dyn Values, y: &dyn Values) -> Self {
        self.with(series("line", x, &[y], Style::Line))
    }

    /// Adds a marker for each point, over an `x` of its own.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let figure = plot(&[0, 5], &[&[0, 5]]).points(&[1, 2, 4], &[1.1, 1.9, 4.2]);
    /// assert!(figure.show_text().ends_with("series 2: 4.2 at 4 (3 points)"));
    /// ```
    pub fn points(self, x: &dyn Values, y: &dyn Values) -> Self {
        self.with(series("points", x, &[y], Style::Markers))
    }

    /// Adds the series, or keeps their error if it is the first one.
    fn with(mut self, series: Result<Vec<Series>>) -> Self {
        match series {
            Ok(series) => self.chart.series.extend(series),
            Err(error) => self.problem = self.problem.or(Some(error.to_string())),
        }
        self
    }

    /// Names the series, in order. The legend above the chart lists the series that have a name.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let figure = plot(&(0..3), &[&[1, 2, 3]]).legend(["growth"]);
    /// assert_eq!(figure.show_text(), "y over x\ngrowth: 3 at 2 (3 points)");
    /// ```
    pub fn legend<L: Into<String>>(self, names: impl IntoIterator<Item = L>) -> Self {
        self.labelled(texts(&mut names.into_iter().map(Into::into)))
    }

    #[inline(never)]
    fn labelled(mut self, names: Vec<String>) -> Self {
        for (series, name) in self.chart.series.iter_mut().zip(names) {
            series.label = name;
        }
        self
    }

    setters! {
        /// Sets the title, above the chart.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let figure = plot(&(0..3), &[&[1, 2, 3]]).title("growth");
        /// assert_eq!(figure.show_text().lines().next(), Some("growth: y over x"));
        /// ```
        pub fn title(self, title: impl Into<String>): self.chart.title = title.into();

        /// Sets the label of the horizontal axis.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let figure = plot(&(0..3), &[&[1, 2, 3]]).xlabel("epoch").ylabel("loss");
        /// assert!(figure.show_text().starts_with("loss over epoch"));
        /// ```
        pub fn xlabel(self, label: impl Into<String>): self.chart.x.label = label.into();

        /// Sets the label of the vertical axis; see [`xlabel`](Self::xlabel).
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let figure = plot(&(0..3), &[&[1, 2, 3]]).ylabel("loss");
        /// assert!(figure.show_text().starts_with("loss over x"));
        /// ```
        pub fn ylabel(self, label: impl Into<String>): self.chart.y.label = label.into();

        /// Sets the limits of the horizontal axis, which follow from the data otherwise. Invalid limits are
        /// ignored: equal ones, and values that are not finite, or not positive on a [`Scale::Log`].
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let figure = plot(&(0..3), &[&[1, 2, 3]]).xlim(0, 10).ylim(0, 5);
        /// assert!(figure.svg().contains(">10</text>")); // the last tick
        /// ```
        pub fn xlim(self, from: impl Number, to: impl Number): self.chart.x.limits = Some((from.to_f64(), to.to_f64()));

        /// Sets the limits of the vertical axis; see [`xlim`](Self::xlim).
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let figure = plot(&(0..3), &[&[0.1, 0.5, 0.9]]).ylim(0, 1);
        /// assert!(figure.svg().contains(">1.0</text>")); // the highest tick
        /// ```
        pub fn ylim(self, from: impl Number, to: impl Number): self.chart.y.limits = Some((from.to_f64(), to.to_f64()));

        /// Sets the scale of the horizontal axis; the default is linear.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let figure = plot(&[1, 10, 100], &[&[1, 2, 3]]).xscale(Scale::Log);
        /// assert!(figure.svg().contains(">100</text>")); // the last tick
        /// ```
        pub fn xscale(self, scale: Scale): self.chart.x.scale = scale;

        /// Sets the scale of the vertical axis; see [`xscale`](Self::xscale).
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let figure = plot(&(0..3), &[&[1, 10, 100]]).yscale(Scale::Log);
        /// assert!(figure.svg().contains(">100</text>")); // the highest tick
        /// ```
        pub fn yscale(self, scale: Scale): self.chart.y.scale = scale;

        /// Draws a marker on every point of the lines.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let figure = plot(&(0..3), &[&[1, 4, 9]]);
        /// assert!(figure.clone().markers().svg().len() > figure.svg().len());
        /// ```
        pub fn markers(self): {
            for series in &mut self.chart.series {
                if series.style == Style::Line {
                    series.style = Style::LineWithMarkers;
                }
            }
        };

        /// Sets the size in pixels. The default is 600 by 340, the minimum 100 by 80.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let figure = plot(&(0..3), &[&[1, 4, 9]]).figsize(600, 300);
        /// assert!(figure.svg().contains("width=\"600\" height=\"300\""));
        /// ```
        pub fn figsize(self, width: u32, height: u32):
            self.chart.size = (width.clamp(100, 4000), height.clamp(80, 4000));
    }
}

graphic!(Figure, "plot(&(0..3), &[&[1, 4, 9]])");

impl Graphic for Figure {
    fn scene(&self) -> Scene {
        self.chart.scene()
    }

    fn description(&self) -> String {
        self.chart.text()
    }

    fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }
}

#[cfg(test)]
mod tests;
