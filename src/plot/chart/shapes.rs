//! The lines, marks and bars of a chart, on the page.

use super::{Chart, Context, Mark, Place, Series};
use crate::plot::axis::Scale;
use crate::plot::page::{Page, UNIT};
use crate::plot::palette::{self, Stroke};
use crate::plot::trace::trace;
use plotters::element::{Drawable, PointCollection};
use plotters_backend::{BackendCoord, DrawingErrorKind};
use std::collections::HashSet;
use std::convert::Infallible;

/// A series on the page.
pub(super) struct Shape {
    stroke: Stroke,
    /// Lines between gaps.
    pieces: Vec<Vec<Place>>,
    /// Where a mark stands, and which.
    marks: Vec<Place>,
    mark: usize,
    /// Two corners of each.
    bars: Vec<(Place, Place)>,
}

impl Shape {
    fn new(index: usize) -> Self {
        Shape {
            stroke: palette::stroke(index),
            pieces: Vec::new(),
            marks: Vec::new(),
            mark: index,
            bars: Vec::new(),
        }
    }
}

impl Chart {
    /// Where everything is.
    pub(super) fn shapes(&self, chart: &Context) -> Vec<Shape> {
        let series = self.series.iter().enumerate();
        series
            .map(|(i, series)| self.shape(i, series, chart))
            .collect()
    }

    fn shape(&self, index: usize, series: &Series, chart: &Context) -> Shape {
        let seen = |x: f64, y: f64| self.x.scale.holds(x) && self.y.scale.holds(y);
        let place = |x: f64, y: f64| seen(x, y).then(|| chart.backend_coord(&(x, y)));
        let places = || series.points.iter().map(|&(x, y)| place(x, y));
        let mut shape = Shape::new(index);
        if matches!(series.mark, Mark::Line | Mark::Marked) {
            shape.pieces = trace(places(), UNIT);
        }
        if matches!(series.mark, Mark::Points | Mark::Marked) {
            // Marks on the same pixel would only make the picture large.
            let mut pixels = HashSet::new();
            let new = |place: &Place| pixels.insert((place.0 / UNIT, place.1 / UNIT));
            shape.marks = places().flatten().filter(new).collect();
        }
        if let Mark::Bars { offset, width } = series.mark {
            let foot = match self.y.scale {
                Scale::Linear => 0.0,
                // Below whatever is seen.
                Scale::Log => f64::MIN_POSITIVE,
            };
            let bars = series.points.iter().filter_map(|&(x, y)| {
                let left = x + offset - width / 2.0;
                Some((place(left, y)?, place(left + width, foot)?))
            });
            shape.bars = bars.collect();
        }
        shape
    }
}

impl Series {
    /// What stands before the series' name: `width` wide, its left end in the middle of the row.
    pub(super) fn sample(&self, index: usize, (x, y): Place, width: i32) -> Shape {
        let mut shape = Shape::new(index);
        if matches!(self.mark, Mark::Line | Mark::Marked) {
            shape.pieces = vec![vec![(x, y), (x + width, y)]];
        }
        if matches!(self.mark, Mark::Points | Mark::Marked) {
            shape.marks = vec![(x + width / 2, y)];
        }
        if self.is_bars() {
            shape.bars = vec![((x + 5 * UNIT, y - 4 * UNIT), (x + width, y + 4 * UNIT))];
        }
        shape
    }
}

/// Shapes as an element of plotters'. Their places are absolute.
pub(super) struct Drawing<'a> {
    pub(super) shapes: &'a [Shape],
    pub(super) clip: Option<(Place, Place)>,
}

impl<'a> PointCollection<'a, BackendCoord> for &'a Drawing<'_> {
    type Point = BackendCoord;
    type IntoIter = std::iter::Empty<BackendCoord>;

    fn point_iter(self) -> Self::IntoIter {
        std::iter::empty()
    }
}

impl Drawable<&mut Page> for Drawing<'_> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        _points: I,
        page: &mut &mut Page,
        _size: (u32, u32),
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        if let Some((from, to)) = self.clip {
            page.begin_clip(from, to);
        }
        for shape in self.shapes {
            page.draw_bars(&shape.bars, shape.stroke);
            page.draw_pieces(&shape.pieces, shape.stroke);
            page.draw_marks(&shape.marks, shape.mark, shape.stroke);
        }
        if self.clip.is_some() {
            page.end_clip();
        }
        Ok(())
    }
}
