//! The board on which a training loop draws its curves, live.

use super::axis::{AxisSpec, Scale};
use super::chart::{Chart, Series};
use super::number::Number;
use super::render::output::save_scene;
use crate::erased::{Erased, outlined};
use crate::error::Result;
use crate::notebook::live::{Live, LiveContent};
use crate::notebook::{MimeBundle, Show};
use std::path::Path;

/// A chart that grows while a loop adds points, as in d2l's chapter *Object-Oriented Design for
/// Implementation*.
///
/// It appears below the cell with the first point and is then updated in place, at most ten times a
/// second however often [`draw`](Self::draw) is called; the last state is always shown. If a later cell
/// adds points, the board appears there again, with all its points. A plain program shows nothing:
/// [`save`](Self::save) the board. Stock `evcxr_jupyter` shows it once, as the value of a cell or when
/// it is dropped.
///
/// The quantity of a series is the part of its name after `train_`, `val_` or `test_`: `train_loss` and
/// `val_loss` show the quantity `loss`, `val_accuracy` shows `accuracy`. Series whose quantity is not that
/// of the first series use a second axis at the right.
///
/// ```
/// use taper::prelude::*;
///
/// let board = ProgressBoard::new().xlabel("x").xlim(0, 10);
/// for i in 0..100 {
///     let x = f64::from(i) / 10.0;
///     board.draw(x, x.sin(), "sin", 2); // the mean of every 2 points
///     board.draw(x, x.cos(), "cos", 10);
/// }
/// assert_eq!(
///     board.show_text(),
///     "y over x\nsin: -0.412 at 9.85 (50 points)\ncos: -0.9589 at 9.45 (10 points)"
/// );
/// ```
pub struct ProgressBoard {
    live: Erased<Live<Board>>,
}

outlined!(Debug for ProgressBoard { live });

/// The chart, and the points of each series that are not averaged yet.
#[derive(Clone, Debug, Default)]
struct Board {
    chart: Chart,
    /// One mean for each series of the chart, in the same order.
    pending: Vec<RunningMean>,
}

#[derive(Clone, Copy, Debug, Default)]
struct RunningMean {
    sum: (f64, f64),
    count: usize,
}

impl ProgressBoard {
    /// Creates an empty board, 600 by 340 pixels. The limits of its axes follow from the points.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(ProgressBoard::new().show_text(), "y over x (no points yet)");
    /// ```
    pub fn new() -> Self {
        Self {
            live: Erased::new(Live::default()),
        }
    }

    /// Sets the label of the horizontal axis.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let board = ProgressBoard::new().xlabel("epoch").ylabel("loss");
    /// assert_eq!(board.show_text(), "loss over epoch (no points yet)");
    /// ```
    pub fn xlabel(self, label: impl Into<String>) -> Self {
        self.labelled(|chart| &mut chart.x, label.into())
    }

    /// Sets the label of the vertical axis; see [`xlabel`](Self::xlabel).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let board = ProgressBoard::new().ylabel("accuracy");
    /// assert_eq!(board.show_text(), "accuracy over x (no points yet)");
    /// ```
    pub fn ylabel(self, label: impl Into<String>) -> Self {
        self.labelled(|chart| &mut chart.y, label.into())
    }

    /// Sets the limits of the horizontal axis, which follow from the points otherwise. Invalid limits
    /// are ignored: equal ones, and values that are not finite, or not positive on a [`Scale::Log`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let board = ProgressBoard::new().xlim(0, 10).ylim(0.0, 2.5);
    /// assert!(board.svg().contains(">10</text>")); // the last tick
    /// ```
    pub fn xlim(self, from: impl Number, to: impl Number) -> Self {
        self.limited(|chart| &mut chart.x, (from.to_f64(), to.to_f64()))
    }

    /// Sets the limits of the vertical axis; see [`xlim`](Self::xlim).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let board = ProgressBoard::new().ylabel("accuracy").ylim(0, 1);
    /// assert!(board.svg().contains(">1.0</text>")); // the highest tick
    /// ```
    pub fn ylim(self, from: impl Number, to: impl Number) -> Self {
        self.limited(|chart| &mut chart.y, (from.to_f64(), to.to_f64()))
    }

    /// Sets the scale of the horizontal axis; the default is linear.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let board = ProgressBoard::new().xscale(Scale::Log).xlim(1, 100);
    /// assert!(board.svg().contains(">100</text>")); // the last tick
    /// ```
    pub fn xscale(self, scale: Scale) -> Self {
        self.with(|chart| chart.x.scale = scale)
    }

    /// Sets the scale of the vertical axis; see [`xscale`](Self::xscale).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let board = ProgressBoard::new().ylabel("loss").yscale(Scale::Log).ylim(1, 100);
    /// assert!(board.svg().contains(">100</text>")); // the highest tick
    /// ```
    pub fn yscale(self, scale: Scale) -> Self {
        self.with(|chart| chart.y.scale = scale)
    }

    /// Sets the size in pixels. The default is 600 by 340, the minimum 100 by 80.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let board = ProgressBoard::new().figsize(600, 300);
    /// assert!(board.svg().contains("width=\"600\" height=\"300\""));
    /// ```
    pub fn figsize(self, width: u32, height: u32) -> Self {
        let size = (width.clamp(100, 4000), height.clamp(80, 4000));
        self.with(|chart| chart.size = size)
    }

    fn labelled(self, axis: fn(&mut Chart) -> &mut AxisSpec, label: String) -> Self {
        self.with(|chart| axis(chart).label = label)
    }

    fn limited(self, axis: fn(&mut Chart) -> &mut AxisSpec, limits: (f64, f64)) -> Self {
        self.with(|chart| axis(chart).limits = Some(limits))
    }

    fn with(self, change: impl FnOnce(&mut Chart)) -> Self {
        self.live.configure(|board| change(&mut board.chart));
        self
    }

    /// Adds a point to the series named `label`, and creates the series with its first point.
    ///
    /// Draws the mean of every `every_n` points of a series (0 counts as 1) once they are complete. A
    /// mean that is not finite leaves a gap.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let board = ProgressBoard::new();
    /// for (step, loss) in [4.0, 2.0, 1.0, 0.0, 9.0].into_iter().enumerate() {
    ///     board.draw(step, loss, "train_loss", 2);
    /// }
    /// assert_eq!(board.show_text(), "y over x\ntrain_loss: 0.5 at 2.5 (2 points)");
    /// ```
    pub fn draw(&self, x: impl Number, y: impl Number, label: &str, every_n: usize) {
        self.add((x.to_f64(), y.to_f64()), label, every_n);
    }

    fn add(&self, point: (f64, f64), label: &str, every_n: usize) {
        self.live.change(|board| board.draw(point, label, every_n));
    }

    /// Returns the current chart as SVG text.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(ProgressBoard::new().svg().starts_with("<svg "));
    /// ```
    pub fn svg(&self) -> String {
        self.live.read().chart.scene().svg()
    }

    /// Saves the current chart as an SVG file; its name ends in `.svg`.
    ///
    /// # Errors
    /// Returns an error if the name ends differently, or the file cannot be written.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let path = std::env::temp_dir().join(format!("taper_board_{}.svg", std::process::id()));
    /// ProgressBoard::new().save(&path)?;
    /// # std::fs::remove_file(path)?;
    /// let error = ProgressBoard::new().save("board.png").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "cannot save board.png: lines and text are saved as SVG, not as PNG\n\
    ///      Save board.svg; a browser shows it, and `rsvg-convert board.svg -o board.png` converts it"
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_to(path.as_ref())
    }

    fn save_to(&self, path: &Path) -> Result<()> {
        save_scene(&self.live.read().chart.scene(), path)
    }
}

impl Default for ProgressBoard {
    fn default() -> Self {
        Self::new()
    }
}

impl Board {
    /// Adds a point. Returns whether the chart has changed.
    fn draw(&mut self, (x, y): (f64, f64), label: &str, every_n: usize) -> bool {
        let series = &mut self.chart.series;
        let index = series
            .iter()
            .position(|s| s.label == label)
            .unwrap_or_else(|| {
                let mut new = Series::new(label, Vec::new());
                let first = series.first().unwrap_or(&new);
                // A loss of 2 would flatten an accuracy between 0.8 and 0.9.
                new.on_right = new.quantity().is_some() && new.quantity() != first.quantity();
                series.push(new);
                self.pending.push(RunningMean::default());
                series.len() - 1
            });
        let mean = &mut self.pending[index];
        mean.sum.0 += x;
        mean.sum.1 += y;
        mean.count += 1;
        if mean.count < every_n {
            return false;
        }
        let RunningMean { sum, count } = std::mem::take(mean);
        let count = count as f64;
        series[index].points.push((sum.0 / count, sum.1 / count));
        true
    }
}

impl LiveContent for Board {
    fn bundle(&self) -> MimeBundle {
        self.chart.bundle()
    }
}

impl Show for ProgressBoard {
    fn show_text(&self) -> String {
        self.live.read().chart.text()
    }

    fn show_bundle(&self) -> MimeBundle {
        self.live.read().bundle()
    }

    fn evcxr_display(&self) {
        self.live.show_as_value();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_quantity_has_an_axis_at_the_right() {
        let board = ProgressBoard::new();
        for epoch in 1..=4 {
            let x = f64::from(epoch);
            board.draw(x, 200.0 / x, "train_loss", 1);
            board.draw(x, 0.8 + x / 100.0, "val_accuracy", 1);
            board.draw(x, 220.0 / x, "val_loss", 1);
        }
        let sides: Vec<bool> = board
            .live
            .read()
            .chart
            .series
            .iter()
            .map(|s| s.on_right)
            .collect();
        assert_eq!(sides, [false, true, false]);
        let svg = board.svg();
        for text in [">loss<", ">accuracy<", ">0.840<", ">200<"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
    }

    #[test]
    fn names_without_a_quantity_share_the_axis() {
        let board = ProgressBoard::new();
        board.draw(0, 1.0, "train_loss", 1);
        board.draw(0, 1.0, "baseline", 1);
        assert!(
            board
                .live
                .read()
                .chart
                .series
                .iter()
                .all(|series| !series.on_right)
        );
        assert!(!board.svg().contains(">loss<"));
    }
}
