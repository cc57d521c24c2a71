//! A chart of lines: what it shows, and how that becomes a picture and a text.

use super::axis::{Axis, AxisSpec};
use super::number::short;
use super::palette::{self, INK, Stroke};
use super::svg::{self, Svg, UNIT};
use super::trace::{Place, trace};
use crate::display::MimeBundle;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Drawable, PointCollection};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, TextStyle};
use plotters_backend::{BackendCoord, DrawingErrorKind};
use std::convert::Infallible;
use std::fmt::Write;

/// Points in the order in which a line connects them.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) label: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// What a chart shows. Sizes are in pixels (CSS's, 96 to the inch).
#[derive(Clone, Debug)]
pub(super) struct Chart {
    pub(super) x: AxisSpec,
    pub(super) y: AxisSpec,
    pub(super) series: Vec<Series>,
    pub(super) size: (u32, u32),
}

type Drawn = Result<(), DrawingAreaErrorKind<Infallible>>;
type Area<'a> = DrawingArea<Svg<'a>, Shift>;
type Context<'a, 'b> = ChartContext<'a, Svg<'b>, Cartesian2d<Axis, Axis>>;

/// In plotters' units, as everything below.
const FONT: i32 = 11 * UNIT;
const TICK: i32 = 3 * UNIT;
/// Room for a row of text.
const ROW: i32 = 15 * UNIT;
/// The line before a name in the legend.
const SAMPLE: i32 = 22 * UNIT;

impl Default for Chart {
    /// An empty chart of 3.5 by 2.5 inches at 100 pixels each.
    fn default() -> Self {
        Chart {
            x: AxisSpec::default(),
            y: AxisSpec::default(),
            series: Vec::new(),
            size: (350, 250),
        }
    }
}

impl Chart {
    /// The chart as a picture and as text.
    pub(super) fn bundle(&self) -> MimeBundle {
        MimeBundle::text(self.text()).with("image/svg+xml", self.svg())
    }

    /// One line that says what the axes are, and one for each series with its last point.
    pub(super) fn text(&self) -> String {
        let mut text = self.title();
        for Series { label, points } in &self.series {
            let Some(&(x, y)) = points.last() else {
                continue;
            };
            let (x, y) = (short(x), short(y));
            let count = match points.len() {
                1 => "1 point".to_owned(),
                n => format!("{n} points"),
            };
            let _ = write!(text, "\n{label}: {y} at {x} ({count})");
        }
        text
    }

    fn title(&self) -> String {
        let name = |axis: &AxisSpec, other: &str| match axis.label.as_str() {
            "" => other.to_owned(),
            label => label.to_owned(),
        };
        let (x, y) = (name(&self.x, "x"), name(&self.y, "y"));
        let empty = self.series.iter().all(|series| series.points.is_empty());
        format!(
            "{y} over {x}{}",
            if empty { " (no points yet)" } else { "" }
        )
    }

    /// The chart as an SVG picture.
    pub(super) fn svg(&self) -> String {
        let mut text = String::new();
        // The picture is kept for those who see it, its text for those who hear it.
        let picture = Svg::begin(&mut text, self.size, &self.text().replace('\n', "; "));
        self.draw(picture)
            .expect("a picture in memory takes every shape");
        svg::end(&mut text);
        text
    }

    fn draw(&self, picture: Svg) -> Drawn {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let (width, height) = self.size;
        let x = Axis::new(&self.x, points().map(|p| p.0), width as usize / 55);
        let y = Axis::new(&self.y, points().map(|p| p.1), height as usize / 40);
        let widest = y
            .labels()
            .map(|label| svg::text_width(label, f64::from(FONT)));
        let y_room = widest.max().unwrap_or(0) + 3 * TICK + room_for(&self.y);
        let legend = self.legend(UNIT + y_room);
        let legend_room = legend.last().map_or(0, |(_, top)| top + ROW);

        let area = picture.into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(UNIT)
            .margin_top(legend_room + 7 * UNIT)
            .margin_right(12 * UNIT)
            .x_label_area_size(ROW + TICK + room_for(&self.x))
            .y_label_area_size(y_room)
            .build_cartesian_2d(x, y)?;
        self.draw_axes(&mut chart)?;
        let lines = self.lines(&chart);
        let clip = Some(chart_area(&chart));
        area.draw(&Lines {
            lines: &lines,
            clip,
        })?;
        self.draw_legend(&area, &legend)
    }

    fn draw_axes(&self, chart: &mut Context) -> Drawn {
        chart
            .configure_mesh()
            .bold_line_style(INK.mix(0.25).stroke_width(UNIT as u32 * 7 / 10))
            .axis_style(INK.stroke_width(UNIT as u32))
            .set_all_tick_mark_size(TICK)
            .label_style(font())
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .draw()
    }

    /// Where each series' line runs.
    fn lines(&self, chart: &Context) -> Vec<Line> {
        let series = self.series.iter().enumerate();
        series
            .map(|(i, series)| {
                let places = series.points.iter().map(|&(x, y)| {
                    let seen = self.x.scale.holds(x) && self.y.scale.holds(y);
                    seen.then(|| chart.backend_coord(&(x, y)))
                });
                Line {
                    stroke: palette::stroke(i),
                    pieces: trace(places, UNIT),
                }
            })
            .collect()
    }

    /// Above the plot, where it never hides a line: the upper left corners of the names, in rows
    /// that begin at `left`. Names that would take more than a third of the picture are left out.
    fn legend(&self, left: i32) -> Vec<Place> {
        let (right, lowest) = (self.size.0 as i32 * UNIT, self.size.1 as i32 * UNIT / 3);
        let (mut x, mut y) = (left, 4 * UNIT);
        let named = self.series.iter().filter(|series| !series.label.is_empty());
        let places = named.map(|series| {
            let width = SAMPLE + svg::text_width(&series.label, f64::from(FONT)) + ROW;
            if x > left && x + width - ROW > right {
                (x, y) = (left, y + ROW);
            }
            x += width;
            (x - width, y)
        });
        places.take_while(|(_, y)| y + ROW <= lowest).collect()
    }

    fn draw_legend(&self, area: &Area, places: &[Place]) -> Drawn {
        let all = self.series.iter().enumerate();
        let named = all.filter(|(_, series)| !series.label.is_empty());
        for ((index, series), &(x, top)) in named.zip(places) {
            let y = top + ROW / 2;
            let lines = &[Line {
                stroke: palette::stroke(index),
                pieces: vec![vec![(x, y), (x + SAMPLE - 5 * UNIT, y)]],
            }];
            area.draw(&Lines { lines, clip: None })?;
            let style = font().pos(Pos::new(HPos::Left, VPos::Center));
            area.draw_text(&series.label, &style, (x + SAMPLE, y))?;
        }
        Ok(())
    }
}

/// A series on the page: pieces between gaps.
struct Line {
    stroke: Stroke,
    pieces: Vec<Vec<Place>>,
}

/// Lines as an element of plotters'. Their places are absolute.
struct Lines<'a> {
    lines: &'a [Line],
    clip: Option<(Place, Place)>,
}

impl<'a> PointCollection<'a, BackendCoord> for &'a Lines<'_> {
    type Point = BackendCoord;
    type IntoIter = std::iter::Empty<BackendCoord>;

    fn point_iter(self) -> Self::IntoIter {
        std::iter::empty()
    }
}

impl Drawable<Svg<'_>> for Lines<'_> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        _points: I,
        picture: &mut Svg,
        _size: (u32, u32),
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        if let Some((from, to)) = self.clip {
            picture.begin_clip(from, to);
        }
        for line in self.lines {
            picture.draw_pieces(&line.pieces, line.stroke);
        }
        if self.clip.is_some() {
            picture.end_clip();
        }
        Ok(())
    }
}

fn font() -> TextStyle<'static> {
    ("sans-serif", FONT).into_font().color(&INK)
}

/// Room for an axis' name, if it has one.
fn room_for(axis: &AxisSpec) -> i32 {
    if axis.label.is_empty() { 0 } else { ROW }
}

/// Upper left and lower right corner of where the lines are.
fn chart_area(chart: &Context) -> (Place, Place) {
    let (x, y) = chart.plotting_area().get_pixel_range();
    ((x.start, y.start), (x.end, y.end))
}

#[cfg(test)]
mod tests;
