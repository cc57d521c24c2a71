//! A chart over two axes: what it shows, and how that becomes a picture and a text.

mod shapes;

use super::axis::{Axis, AxisSpec, Scale};
use super::number::short;
use super::page::{Page, UNIT, text_width};
use super::palette::INK;
use super::trace::Place;
use crate::display::MimeBundle;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, TextStyle};
use shapes::Drawing;
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
type Area<'a> = DrawingArea<&'a mut Page, Shift>;
type Context<'a, 'b> = ChartContext<'a, &'b mut Page, Cartesian2d<Axis, Axis>>;

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
        MimeBundle::text(self.text()).with("image/svg+xml", self.page().svg())
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

    pub(super) fn page(&self) -> Page {
        // The picture is kept for those who see it, its text for those who hear it.
        let mut page = Page::new(self.size, self.text().replace('\n', "; "));
        self.draw(&mut page)
            .expect("a picture in memory takes every shape");
        page
    }

    fn draw(&self, page: &mut Page) -> Drawn {
        let (width, height) = self.size;
        let (x, y) = self.ends();
        let x = Axis::new(&self.x, x.into_iter(), width as usize / 55);
        let y_spec = AxisSpec {
            limits: self.y.limits.or_else(|| self.standing_on_zero(&y)),
            ..self.y.clone()
        };
        let y = Axis::new(&y_spec, y.into_iter(), height as usize / 40);
        let widest = y.labels().map(|label| text_width(label, f64::from(FONT)));
        let y_room = widest.max().unwrap_or(0) + 3 * TICK + room_for(&self.y.label);
        let legend = self.legend(UNIT + y_room);
        let legend_room = legend
            .last()
            .map_or(self.title_room(), |(_, top)| top + ROW);

        let area = page.into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(UNIT)
            .margin_top(legend_room + 7 * UNIT)
            .margin_right(12 * UNIT)
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
        let (left, right) = (chart_area(&chart).0.0, chart_area(&chart).1.0);
        let title = font().pos(Pos::new(HPos::Center, VPos::Center));
        area.draw_text(
            &self.title,
            &title,
            ((left + right) / 2, 4 * UNIT + ROW / 2),
        )?;
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

    /// Above the plot, where it never hides a line: the upper left corners of the names, in rows
    /// that begin at `left`. Names that would take more than a third of the picture are left out.
    fn legend(&self, left: i32) -> Vec<Place> {
        let (right, lowest) = (self.size.0 as i32 * UNIT, self.size.1 as i32 * UNIT / 3);
        let (mut x, mut y) = (left, 4 * UNIT + self.title_room());
        let named = self.series.iter().filter(|series| !series.label.is_empty());
        let places = named.map(|series| {
            let width = SAMPLE + text_width(&series.label, f64::from(FONT)) + ROW;
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
            let shapes = &[series.sample(index, (x, y), SAMPLE - 5 * UNIT)];
            area.draw(&Drawing { shapes, clip: None })?;
            let style = font().pos(Pos::new(HPos::Left, VPos::Center));
            area.draw_text(&series.label, &style, (x + SAMPLE, y))?;
        }
        Ok(())
    }
}

fn font() -> TextStyle<'static> {
    ("sans-serif", FONT).into_font().color(&INK)
}

/// Room for a row of text, if there is any.
fn room_for(text: &str) -> i32 {
    if text.is_empty() { 0 } else { ROW }
}

/// Upper left and lower right corner of where the lines are.
fn chart_area(chart: &Context) -> (Place, Place) {
    let (x, y) = chart.plotting_area().get_pixel_range();
    ((x.start, y.start), (x.end, y.end))
}

#[cfg(test)]
mod tests;
