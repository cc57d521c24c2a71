//! The board on which a training loop draws its curves.

use super::axis::{AxisSpec, Scale};
use super::chart::{Chart, Series};
use super::number::Number;
use super::render::output::save_scene;
use crate::erased::Erased;
use crate::error::Result;
use crate::notebook::MimeBundle;
use crate::notebook::Show;
use crate::notebook::live::{Live, Picture};
use std::path::Path;

/// Curves that grow while the loop that draws them runs, as in d2l's chapter *Object-Oriented
/// Design for Implementation*.
///
/// The picture appears below the cell with the first point and is then drawn anew in place, at most
/// ten times a second however often [`draw`](Self::draw) is called; the last state is always shown.
/// A board that is drawn on in a later cell appears there again, with all its points. In a plain
/// program nothing is shown: [`save`](Self::save) it.
///
/// Stock `evcxr_jupyter` shows the board once, as the value of a cell or when it is dropped.
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
#[derive(Debug)]
pub struct ProgressBoard {
    live: Erased<Live<Board>>,
}

/// What is drawn, and the points that wait for others to be averaged with.
#[derive(Clone, Debug, Default)]
struct Board {
    chart: Chart,
    /// One for each series of the chart.
    waiting: Vec<Group>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Group {
    sum: (f64, f64),
    count: usize,
}

impl ProgressBoard {
    /// An empty board, 350 by 250 pixels. Its axes follow the points.
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

    /// Names the horizontal axis.
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

    /// Names the vertical axis; see [`xlabel`](Self::xlabel).
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

    /// Fixes the ends of the horizontal axis. Ends that make no axis (equal, not finite, or not
    /// positive on a [`Scale::Log`]) leave it to follow the points.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let board = ProgressBoard::new().xlim(0, 10).ylim(0.0, 2.5);
    /// ```
    pub fn xlim(self, from: impl Number, to: impl Number) -> Self {
        self.limited(|chart| &mut chart.x, (from.to_f64(), to.to_f64()))
    }

    /// Fixes the ends of the vertical axis; see [`xlim`](Self::xlim).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let board = ProgressBoard::new().ylabel("accuracy").ylim(0, 1);
    /// ```
    pub fn ylim(self, from: impl Number, to: impl Number) -> Self {
        self.limited(|chart| &mut chart.y, (from.to_f64(), to.to_f64()))
    }

    /// Chooses how the horizontal axis spreads its values; linear at first.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let board = ProgressBoard::new().xscale(Scale::Log).yscale(Scale::Log);
    /// ```
    pub fn xscale(self, scale: Scale) -> Self {
        self.with(|chart| chart.x.scale = scale)
    }

    /// Chooses how the vertical axis spreads its values; see [`xscale`](Self::xscale).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let board = ProgressBoard::new().ylabel("loss").yscale(Scale::Log);
    /// ```
    pub fn yscale(self, scale: Scale) -> Self {
        self.with(|chart| chart.y.scale = scale)
    }

    /// Chooses the size in pixels: 350 by 250 at first, at least 100 by 80.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let board = ProgressBoard::new().figsize(600, 300);
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

    /// Adds a point to the line called `label`, which begins with its first point.
    ///
    /// Of every `every_n` points of a line (0 counts as 1) their mean is drawn. Fewer than that
    /// wait for the next ones. A mean that is not finite leaves a gap.
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

    /// The picture as it is now: the text of an SVG file.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(ProgressBoard::new().svg().starts_with("<svg "));
    /// ```
    pub fn svg(&self) -> String {
        self.live.read().chart.scene().svg()
    }

    /// Writes the picture to a file whose name ends in `.svg`, or in `.png`: twice as many pixels, on
    /// white.
    ///
    /// # Errors
    /// If the name ends differently, or the file cannot be written.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let path = std::env::temp_dir().join("taper_board.png");
    /// ProgressBoard::new().save(&path)?;
    /// let error = ProgressBoard::new().save("board.gif").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "cannot save a picture as board.gif: only SVG and PNG are known\n\
    ///      Name the file board.svg or board.png"
    /// );
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        save_scene(&self.live.read().chart.scene(), path.as_ref())
    }
}

impl Default for ProgressBoard {
    fn default() -> Self {
        Self::new()
    }
}

impl Board {
    /// Whether the picture has changed.
    fn draw(&mut self, (x, y): (f64, f64), label: &str, every_n: usize) -> bool {
        let series = &mut self.chart.series;
        let index = series
            .iter()
            .position(|s| s.label == label)
            .unwrap_or_else(|| {
                series.push(Series::new(label, Vec::new()));
                self.waiting.push(Group::default());
                series.len() - 1
            });
        let group = &mut self.waiting[index];
        group.sum.0 += x;
        group.sum.1 += y;
        group.count += 1;
        if group.count < every_n {
            return false;
        }
        let Group { sum, count } = std::mem::take(group);
        let count = count as f64;
        series[index].points.push((sum.0 / count, sum.1 / count));
        true
    }
}

impl Picture for Board {
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
