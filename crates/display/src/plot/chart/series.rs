//! The lines, markers and bars of a chart, in the coordinates of the scene.

use super::right_axis::RightAxis;
use super::spec::{Area, Chart, Series, Style};
use crate::plot::axis::{Axis, Scale};
use crate::plot::render::UNIT;
use crate::plot::render::decimate::{Point, decimate};
use crate::plot::render::palette::{self, Stroke};
use crate::plot::render::scene::Scene;
use plotters::chart::ChartContext;
use plotters::coord::cartesian::Cartesian2d;
use std::collections::{BTreeMap, HashSet};

/// The approximate number of line points that are drawn in all series together: more would make a figure
/// too large for a notebook without looking different.
const MAX_POINTS: usize = 16_000;
/// The approximate number of markers that are drawn in all series together.
const MAX_MARKERS: usize = 5_000;

/// The chart of plotters, which maps data to the coordinates of the scene.
pub(super) type Context<'a, 'b> = ChartContext<'a, &'b mut Scene, Cartesian2d<Axis, Axis>>;

/// Returns the area in which the series are drawn.
pub(super) fn plot_area(chart: &Context) -> Area {
    let (x, y) = chart.plotting_area().get_pixel_range();
    ((x.start, y.start), (x.end, y.end))
}

/// A series in the coordinates of the scene.
pub(super) struct DrawnSeries {
    stroke: Stroke,
    /// Runs of connected points, with gaps between them.
    segments: Vec<Vec<Point>>,
    /// The centres of the markers.
    markers: Vec<Point>,
    /// The shape of the markers; see [`palette::marker`].
    marker: usize,
    /// Two corners of each bar.
    bars: Vec<(Point, Point)>,
}

impl DrawnSeries {
    fn new(index: usize) -> Self {
        DrawnSeries {
            stroke: palette::stroke(index),
            segments: Vec::new(),
            markers: Vec::new(),
            marker: index,
            bars: Vec::new(),
        }
    }

    pub(super) fn draw(&self, scene: &mut Scene) {
        scene.draw_bars(&self.bars, self.stroke);
        scene.draw_segments(&self.segments, self.stroke);
        scene.draw_markers(&self.markers, self.marker, self.stroke);
    }
}

impl Chart {
    /// Maps every series to the coordinates of the scene.
    pub(super) fn drawn_series(
        &self,
        chart: &Context,
        right: Option<&RightAxis>,
    ) -> Vec<DrawnSeries> {
        let series = self.series.iter().enumerate();
        let mut drawn: Vec<DrawnSeries> = series
            .map(|(i, series)| self.drawn(i, series, chart, right))
            .collect();
        thin_markers(&mut drawn);
        drawn
    }

    fn drawn(
        &self,
        index: usize,
        series: &Series,
        chart: &Context,
        right: Option<&RightAxis>,
    ) -> DrawnSeries {
        let right = right.filter(|_| series.on_right);
        let scale = right.map_or(self.y.scale, |_| self.right.scale);
        let visible = |x: f64, y: f64| self.x.scale.contains(x) && scale.contains(y);
        let coordinates = |x: f64, y: f64| {
            let (x, left) = chart.backend_coord(&(x, y));
            (x, right.map_or(left, |axis| axis.map(y, plot_area(chart))))
        };
        let map = |x: f64, y: f64| visible(x, y).then(|| coordinates(x, y));
        let points = || series.points.iter().map(|&(x, y)| map(x, y));
        let mut drawn = DrawnSeries::new(index);
        if matches!(series.style, Style::Line | Style::LineWithMarkers) {
            drawn.segments = decimate(points(), UNIT, (MAX_POINTS / self.series.len()).max(100));
        }
        if matches!(series.style, Style::Markers | Style::LineWithMarkers) {
            // Several markers on one pixel would only make the figure larger.
            let mut pixels = HashSet::new();
            let is_new = |point: &Point| pixels.insert((point.0 / UNIT, point.1 / UNIT));
            drawn.markers = points().flatten().filter(is_new).collect();
        }
        if let Style::Bars { offset, width } = series.style {
            let base = match self.y.scale {
                Scale::Linear => 0.0,
                // 0 is not on the scale; this is below the axis.
                Scale::Log => f64::MIN_POSITIVE,
            };
            let bars = series.points.iter().filter_map(|&(x, y)| {
                let left = x + offset - width / 2.0;
                Some((map(left, y)?, map(left + width, base)?))
            });
            drawn.bars = one_per_column(bars.collect());
        }
        drawn
    }
}

/// Removes markers that others hide, if there are too many. A marker is about six pixels wide.
fn thin_markers(drawn: &mut [DrawnSeries]) {
    let count = |all: &[DrawnSeries]| all.iter().map(|one| one.markers.len()).sum::<usize>();
    let all: Vec<Vec<Point>> = drawn.iter().map(|one| one.markers.clone()).collect();
    for side in 2..=6 {
        if count(drawn) <= MAX_MARKERS {
            break;
        }
        drawn.iter_mut().for_each(|one| one.markers.clear());
        for (series, point) in one_per_cell(&all, side * UNIT) {
            drawn[series].markers.push(point);
        }
    }
}

/// Returns one marker for each cell of a grid, with the index of its series: a marker of the series that is
/// drawn last, and so is on top, and of these the one nearest to the middle of the cell, so that no holes
/// appear between cells.
fn one_per_cell(all: &[Vec<Point>], side: i32) -> impl Iterator<Item = (usize, Point)> {
    let distance = |(x, y): Point| {
        let (x, y) = (x.rem_euclid(side) - side / 2, y.rem_euclid(side) - side / 2);
        x * x + y * y
    };
    let mut cells = BTreeMap::new();
    for (series, points) in all.iter().enumerate() {
        for &point in points {
            let cell = (point.0.div_euclid(side), point.1.div_euclid(side));
            let kept = cells.entry(cell).or_insert((series, point));
            if kept.0 < series || distance(point) < distance(kept.1) {
                *kept = (series, point);
            }
        }
    }
    cells.into_values()
}

/// If all bars are narrower than a pixel, merges them into one bar for each column of pixels, as long as
/// the longest bar in that column.
fn one_per_column(bars: Vec<(Point, Point)>) -> Vec<(Point, Point)> {
    if bars
        .iter()
        .any(|((left, _), (right, _))| right - left >= UNIT)
    {
        return bars;
    }
    let mut columns = BTreeMap::new();
    for ((left, top), (right, bottom)) in bars {
        let column = ((left + right) / 2).div_euclid(UNIT);
        let (high, low) = columns.entry(column).or_insert((bottom, bottom));
        *high = top.min(*high);
        *low = top.max(*low);
    }
    let visible = columns.into_iter().filter(|(_, (high, low))| high < low);
    let bars = visible.map(|(column, (high, low))| {
        let left = column * UNIT;
        ((left, high), (left + UNIT, low))
    });
    bars.collect()
}

impl Series {
    /// Returns the legend key of the series: `width` wide, with its left end at this point.
    pub(super) fn legend_key(&self, index: usize, (x, y): Point, width: i32) -> DrawnSeries {
        let mut key = DrawnSeries::new(index);
        if matches!(self.style, Style::Line | Style::LineWithMarkers) {
            key.segments = vec![vec![(x, y), (x + width, y)]];
        }
        if matches!(self.style, Style::Markers | Style::LineWithMarkers) {
            key.markers = vec![(x + width / 2, y)];
        }
        if self.is_bars() {
            key.bars = vec![((x + 5 * UNIT, y - 4 * UNIT), (x + width, y + 4 * UNIT))];
        }
        key
    }
}
