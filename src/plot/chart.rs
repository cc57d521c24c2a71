//! A chart over two axes: what it shows, and how that becomes a picture and a text.

mod legend;
mod series;

use super::axis::{Axis, AxisSpec, Scale};
use super::number::short;
use super::render::UNIT;
use super::render::decimate::Place;
use super::render::palette::INK;
use super::render::scene::Scene;
use super::render::text::{FONT, centred, text_width};
use crate::notebook::MimeBundle;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, TextStyle};
use series::Drawing;
use std::convert::Infallible;
use std::fmt::Write;

/// Points in the order in which a line connects them.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) label: String,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) mark: Mark,
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mark {
    Line,
    /// A line with a mark on every point.
    Marked,
    Points,
    /// Bars that stand on 0, in the x axis' own units; `offset` is from a point to its bar's middle.
    Bars {
        offset: f64,
        width: f64,
    },
}

impl Series {
    /// A line.
    pub(super) fn new(label: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series {
            label: label.into(),
            points,
            mark: Mark::Line,
        }
    }

    fn is_bars(&self) -> bool {
        matches!(self.mark, Mark::Bars { .. })
    }
}

/// What a chart shows. Sizes are in pixels (CSS's, 96 to the inch).
#[derive(Clone, Debug)]
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) x: AxisSpec,
    pub(super) y: AxisSpec,
    pub(super) series: Vec<Series>,
    pub(super) size: (u32, u32),
}

type Drawn = Result<(), DrawingAreaErrorKind<Infallible>>;
type Area<'a> = DrawingArea<&'a mut Scene, Shift>;
type Context<'a, 'b> = ChartContext<'a, &'b mut Scene, Cartesian2d<Axis, Axis>>;

/// In plotters' units, as everything below.
const TICK: i32 = 3 * UNIT;
/// Room behind the right end of the x axis.
const END: i32 = 12 * UNIT;
/// Room for a row of text.
const ROW: i32 = 15 * UNIT;

impl Default for Chart {
    /// An empty chart of 3.5 by 2.5 inches at 100 pixels each.
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
    /// The chart as a picture and as text.
    pub(super) fn bundle(&self) -> MimeBundle {
        MimeBundle::text(self.text()).with("image/svg+xml", self.scene().svg())
    }

    /// One line that says what the axes are, and one for each series with its last point.
    pub(super) fn text(&self) -> String {
        let mut text = self.heading();
        for (i, series) in self.series.iter().enumerate() {
            let Some(&(x, y)) = series.points.last() else {
                continue;
            };
            let label = match series.label.as_str() {
                "" => format!("series {}", i + 1),
                label => label.to_owned(),
            };
            let _ = write!(text, "\n{label}: ");
            let _ = match series.points.len() {
                _ if series.is_bars() => write!(text, "{}", self.bars_in_words(&series.points)),
                1 => write!(text, "{} at {} (1 point)", short(y), short(x)),
                n => write!(text, "{} at {} ({n} points)", short(y), short(x)),
            };
        }
        text
    }

    /// Each bar's place and height, of the first ones.
    fn bars_in_words(&self, points: &[(f64, f64)]) -> String {
        const MOST: usize = 12;
        let bars = points.iter().enumerate().take(MOST).map(|(i, &(x, y))| {
            let place = self.x.categories.get(i).cloned();
            format!("{} {}", place.unwrap_or_else(|| short(x)), short(y))
        });
        let mut words = bars.collect::<Vec<_>>().join(", ");
        if points.len() > MOST {
            let _ = write!(words, ", … ({} bars)", points.len());
        }
        words
    }

    fn heading(&self) -> String {
        let name = |axis: &AxisSpec, other: &str| match axis.label.as_str() {
            "" => other.to_owned(),
            label => label.to_owned(),
        };
        let (x, y) = (name(&self.x, "x"), name(&self.y, "y"));
        let empty = self.series.iter().all(|series| series.points.is_empty());
        let title = match self.title.as_str() {
            "" => String::new(),
            title => format!("{title}: "),
        };
        let remark = if empty { " (no points yet)" } else { "" };
        format!("{title}{y} over {x}{remark}")
    }

    pub(super) fn scene(&self) -> Scene {
        // The picture is kept for those who see it, its text for those who hear it.
        let mut scene = Scene::new(self.size, self.text().replace('\n', "; "));
        self.draw(&mut scene)
            .expect("a picture in memory takes every shape");
        scene
    }

    fn draw(&self, scene: &mut Scene) -> Drawn {
        let (width, height) = self.size;
        let (x, y) = self.ends();
        let x = Axis::new(&self.x, x.into_iter(), width as usize / 55);
        let y_spec = AxisSpec {
            limits: self.y.limits.or_else(|| self.standing_on_zero(&y)),
            ..self.y.clone()
        };
        let y = Axis::new(&y_spec, y.into_iter(), height as usize / 40);
        let widest = y.labels().map(|label| text_width(label, FONT));
        let y_room = widest.max().unwrap_or(0) + 3 * TICK + room_for(&self.y.label);
        let overhang = x.overhang(width as i32 * UNIT - y_room - UNIT - END);
        let legend = self.legend(UNIT + y_room);
        let legend_room = legend
            .last()
            .map_or(self.title_room(), |entry| entry.place.1 + ROW);

        let area = scene.into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(UNIT)
            .margin_top(legend_room + 7 * UNIT)
            .margin_right(overhang.max(END))
            .x_label_area_size(ROW + TICK + room_for(&self.x.label))
            .y_label_area_size(y_room)
            .build_cartesian_2d(x, y)?;
        self.draw_axes(&mut chart)?;
        let shapes = self.shapes(&chart);
        let clip = Some(chart_area(&chart));
        area.draw(&Drawing {
            shapes: &shapes,
            clip,
        })?;
        let middle = middle(&chart).0;
        let title = centred(&self.title, middle, width as i32 * UNIT);
        let style = font().pos(Pos::new(HPos::Center, VPos::Center));
        area.draw_text(&title, &style, (middle, 4 * UNIT + ROW / 2))?;
        self.draw_legend(&area, &legend)
    }

    /// All that the two axes should reach.
    fn ends(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut xs, mut ys) = (Vec::new(), Vec::new());
        for series in &self.series {
            let half = match series.mark {
                Mark::Bars { width, .. } => width / 2.0,
                _ => 0.0,
            };
            for &(x, y) in &series.points {
                xs.extend([x - half, x + half]);
                ys.push(y);
            }
            if series.is_bars() {
                ys.push(0.0);
            }
        }
        (xs, ys)
    }

    /// Where bars and nothing else are drawn, they stand on the axis.
    fn standing_on_zero(&self, ys: &[f64]) -> Option<(f64, f64)> {
        let lowest = ys.iter().copied().fold(0.0, f64::min);
        let highest = ys.iter().copied().fold(0.0, f64::max);
        let only_bars = self.y.scale == Scale::Linear && self.series.iter().all(Series::is_bars);
        let limits = (lowest * 1.05, highest * 1.05);
        (only_bars && limits.0 < limits.1).then_some(limits)
    }

    fn title_room(&self) -> i32 {
        room_for(&self.title)
    }

    fn draw_axes(&self, chart: &mut Context) -> Drawn {
        let (width, height) = (self.size.0 as i32 * UNIT, self.size.1 as i32 * UNIT);
        let (x, y) = middle(chart);
        chart
            .configure_mesh()
            .bold_line_style(INK.mix(0.25).stroke_width(UNIT as u32 * 7 / 10))
            .axis_style(INK.stroke_width(UNIT as u32))
            .set_all_tick_mark_size(TICK)
            .label_style(font())
            .x_desc(centred(&self.x.label, x, width))
            .y_desc(centred(&self.y.label, y, height))
            .draw()
    }
}

fn font() -> TextStyle<'static> {
    ("sans-serif", FONT).into_font().color(&INK)
}

/// Room for a row of text, if there is any.
fn room_for(text: &str) -> i32 {
    if text.is_empty() { 0 } else { ROW }
}

/// The middle of where the lines are.
fn middle(chart: &Context) -> Place {
    let ((left, top), (right, bottom)) = chart_area(chart);
    ((left + right) / 2, (top + bottom) / 2)
}

/// Upper left and lower right corner of where the lines are.
fn chart_area(chart: &Context) -> (Place, Place) {
    let (x, y) = chart.plotting_area().get_pixel_range();
    ((x.start, y.start), (x.end, y.end))
}

#[cfg(test)]
mod tests;
