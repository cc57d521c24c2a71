//! The data and the labels of a chart.

use crate::plot::axis::AxisSpec;
use crate::plot::render::UNIT;

/// The height of a row of text, in plotters' units.
pub(super) const ROW: i32 = 15 * UNIT;

/// A data series: its points in the order in which a line connects them.
#[derive(Clone, Debug)]
pub(in crate::plot) struct Series {
    pub(in crate::plot) label: String,
    pub(in crate::plot) points: Vec<(f64, f64)>,
    pub(in crate::plot) style: Style,
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
        }
    }

    pub(super) fn is_bars(&self) -> bool {
        matches!(self.style, Style::Bars { .. })
    }
}

/// The data and the labels of a chart. The size is in CSS pixels, 96 to the inch.
#[derive(Clone, Debug)]
pub(in crate::plot) struct Chart {
    pub(in crate::plot) title: String,
    pub(in crate::plot) x: AxisSpec,
    pub(in crate::plot) y: AxisSpec,
    pub(in crate::plot) series: Vec<Series>,
    pub(in crate::plot) size: (u32, u32),
}

impl Default for Chart {
    /// Creates an empty chart, 350 by 250 pixels.
    fn default() -> Self {
        Chart {
            title: String::new(),
            x: AxisSpec::default(),
            y: AxisSpec::default(),
            series: Vec::new(),
            size: (350, 250),
        }
    }
}

impl Chart {
    pub(super) fn title_height(&self) -> i32 {
        row_height(&self.title)
    }
}

/// Returns the height of a row of text, or 0 if there is no text.
pub(super) fn row_height(text: &str) -> i32 {
    if text.is_empty() { 0 } else { ROW }
}
