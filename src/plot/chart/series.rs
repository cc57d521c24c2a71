//! The lines, marks and bars of a chart, on the page.

use super::{Chart, Context, Mark, Place, Series};
use crate::plot::axis::Scale;
use crate::plot::render::UNIT;
use crate::plot::render::decimate::decimate;
use crate::plot::render::palette::{self, Stroke};
use crate::plot::render::scene::Scene;
use plotters::element::{Drawable, PointCollection};
use plotters_backend::{BackendCoord, DrawingErrorKind};
use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;

/// About as many points of lines, and as many marks, are drawn in all: more would make a picture
/// that is too large for a notebook, and no different to look at.
const MOST_POINTS: usize = 16_000;
const MOST_MARKS: usize = 5_000;

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
        let mut shapes: Vec<Shape> = series
            .map(|(i, series)| self.shape(i, series, chart))
            .collect();
        thin_marks(&mut shapes);
        shapes
    }

    fn shape(&self, index: usize, series: &Series, chart: &Context) -> Shape {
        let seen = |x: f64, y: f64| self.x.scale.holds(x) && self.y.scale.holds(y);
        let place = |x: f64, y: f64| seen(x, y).then(|| chart.backend_coord(&(x, y)));
        let places = || series.points.iter().map(|&(x, y)| place(x, y));
        let mut shape = Shape::new(index);
        if matches!(series.mark, Mark::Line | Mark::Marked) {
            shape.pieces = decimate(places(), UNIT, (MOST_POINTS / self.series.len()).max(100));
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
            shape.bars = one_per_column(bars.collect());
        }
        shape
    }
}

/// Marks are about six pixels wide: where there are too many, those that others hide are left out.
fn thin_marks(shapes: &mut [Shape]) {
    let count = |shapes: &[Shape]| shapes.iter().map(|shape| shape.marks.len()).sum::<usize>();
    let all: Vec<Vec<Place>> = shapes.iter().map(|shape| shape.marks.clone()).collect();
    for side in 2..=6 {
        if count(shapes) <= MOST_MARKS {
            break;
        }
        shapes.iter_mut().for_each(|shape| shape.marks.clear());
        for (series, place) in one_per_cell(&all, side * UNIT) {
            shapes[series].marks.push(place);
        }
    }
}

/// A mark in each cell of a grid, and its series: of the series that is drawn last, as it is on top,
/// the one nearest to the middle, so that no holes come up between cells.
fn one_per_cell(all: &[Vec<Place>], side: i32) -> impl Iterator<Item = (usize, Place)> {
    let off = |(x, y): Place| {
        let (x, y) = (x.rem_euclid(side) - side / 2, y.rem_euclid(side) - side / 2);
        x * x + y * y
    };
    let mut cells = BTreeMap::new();
    for (series, places) in all.iter().enumerate() {
        for &place in places {
            let cell = (place.0.div_euclid(side), place.1.div_euclid(side));
            let kept = cells.entry(cell).or_insert((series, place));
            if kept.0 < series || off(place) < off(kept.1) {
                *kept = (series, place);
            }
        }
    }
    cells.into_values()
}

/// Where all bars are narrower than a pixel, a bar for each column of pixels, as long as the longest
/// in it.
fn one_per_column(bars: Vec<(Place, Place)>) -> Vec<(Place, Place)> {
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
    let seen = columns.into_iter().filter(|(_, (high, low))| high < low);
    let bars = seen.map(|(column, (high, low))| {
        let left = column * UNIT;
        ((left, high), (left + UNIT, low))
    });
    bars.collect()
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

impl Drawable<&mut Scene> for Drawing<'_> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        _points: I,
        scene: &mut &mut Scene,
        _size: (u32, u32),
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        if let Some((from, to)) = self.clip {
            scene.begin_clip(from, to);
        }
        for shape in self.shapes {
            scene.draw_bars(&shape.bars, shape.stroke);
            scene.draw_pieces(&shape.pieces, shape.stroke);
            scene.draw_marks(&shape.marks, shape.mark, shape.stroke);
        }
        if self.clip.is_some() {
            scene.end_clip();
        }
        Ok(())
    }
}
