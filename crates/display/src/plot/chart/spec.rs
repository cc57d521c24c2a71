//! The data and the labels of a chart.

use crate::plot::axis::AxisSpec;
use crate::plot::render::UNIT;
use crate::plot::render::decimate::Point;

/// The length of a tick, in plotters' units.
pub(super) const TICK: i32 = 3 * UNIT;

/// The upper left and the lower right corner of a rectangle.
pub(super) type Area = (Point, Point);

pub(super) fn middle(((left, top), (right, bottom)): Area) -> Point {
    ((left + right) / 2, (top + bottom) / 2)
}

/// A data series: its points in the order in which a line connects them.
#[derive(Clone, Debug)]
pub(in crate::plot) struct Series {
    pub(in crate::plot) label: String,
    pub(in crate::plot) points: Vec<(f64, f64)>,
    pub(in crate::plot) style: Style,
    /// Whether the series uses the axis at the right, because it shows another quantity.
    pub(in crate::plot) on_right: bool,
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::plot) enum Style {
    Line,
    /// A line with a marker on every point.
    LineWithMarkers,
    Markers,
    /// Bars that stand on 0. `width` and `offset`, from a point to the middle of its bar, are in the
    /// units of the x axis.
    Bars {
        offset: f64,
        width: f64,
    },
}

impl Series {
    /// Creates a series that is drawn as a line.
    pub(in crate::plot) fn new(label: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series {
            label: label.into(),
            points,
            style: Style::Line,
            on_right: false,
        }
    }

    /// Returns the quantity that the series shows if it has the name of a metric: `loss` for `val_loss`.
    pub(in crate::plot) fn quantity(&self) -> Option<&str> {
        let (pass, quantity) = self.label.split_once('_')?;
        matches!(pass, "train" | "val" | "test").then_some(quantity)
    }

    pub(super) fn is_bars(&self) -> bool {
        matches!(self.style, Style::Bars { .. })
    }
}

/// The size of a chart in pixels, unless the user sets another.
pub(in crate::plot) const SIZE: (u32, u32) = (600, 340);

/// The data and the labels of a chart. The size is in CSS pixels, 96 to the inch.
#[derive(Clone, Debug)]
pub(in crate::plot) struct Chart {
    pub(in crate::plot) title: String,
    pub(in crate::plot) x: AxisSpec,
    pub(in crate::plot) y: AxisSpec,
    /// The second vertical axis, for series that are [`on_right`](Series::on_right).
    pub(in crate::plot) right: AxisSpec,
    pub(in crate::plot) series: Vec<Series>,
    pub(in crate::plot) size: (u32, u32),
}

impl Default for Chart {
    /// Creates an empty chart.
    fn default() -> Self {
        Chart {
            title: String::new(),
            x: AxisSpec::default(),
            y: AxisSpec::default(),
            right: AxisSpec::default(),
            series: Vec::new(),
            size: SIZE,
        }
    }
}
