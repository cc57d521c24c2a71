//! A chart with two axes: its data, and how it becomes an image and a text.
//!
//! [`Chart::draw`] shows who does what: plotters lays out the plot area, maps data to coordinates and
//! draws grid, axes, ticks and their labels; this module chooses the ticks and draws series and legend.

mod legend;
mod series;

use super::axis::{Axis, AxisSpec, Scale};
use super::number::short;
use super::render::UNIT;
use super::render::decimate::Point;
use super::render::palette::INK;
use super::render::scene::{Anchor, Scene};
use super::render::text::{FONT, centred, text_width};
use crate::notebook::MimeBundle;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::{DrawingAreaErrorKind, IntoDrawingArea};
use plotters::style::{Color, IntoFont};
use series::DrawnSeries;
use std::convert::Infallible;
use std::fmt::Write;

/// A data series: its points in the order in which a line connects them.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) label: String,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) style: Style,
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Style {
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
    pub(super) fn new(label: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series {
            label: label.into(),
            points,
            style: Style::Line,
        }
    }

    fn is_bars(&self) -> bool {
        matches!(self.style, Style::Bars { .. })
    }
}

/// The data and the labels of a chart. The size is in CSS pixels, 96 to the inch.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) x: AxisSpec,
    pub(super) y: AxisSpec,
    pub(super) series: Vec<Series>,
    pub(super) size: (u32, u32),
}

/// Upper left and lower right corner of a rectangle.
type Area = (Point, Point);
type Context<'a, 'b> = ChartContext<'a, &'b mut Scene, Cartesian2d<Axis, Axis>>;

/// The length of a tick. This and everything below is in plotters' units.
const TICK: i32 = 3 * UNIT;
/// The margin behind the right end of the x axis.
const END: i32 = 12 * UNIT;
/// The height of a row of text.
const ROW: i32 = 15 * UNIT;

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
    /// Returns the chart as SVG and as text.
    pub(super) fn bundle(&self) -> MimeBundle {
        MimeBundle::text(self.text()).with("image/svg+xml", self.scene().svg())
    }

    /// Describes the chart: a line with the axes, and a line for each series with its last point.
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
                _ if series.is_bars() => write!(text, "{}", self.describe_bars(&series.points)),
                1 => write!(text, "{} at {} (1 point)", short(y), short(x)),
                n => write!(text, "{} at {} ({n} points)", short(y), short(x)),
            };
        }
        text
    }

    /// Lists position and height of the first bars.
    fn describe_bars(&self, points: &[(f64, f64)]) -> String {
        const MAX_BARS: usize = 12;
        let bars = points.iter().enumerate().take(MAX_BARS);
        let bars = bars.map(|(i, &(x, y))| {
            let category = self.x.categories.get(i).cloned();
            format!("{} {}", category.unwrap_or_else(|| short(x)), short(y))
        });
        let mut text = bars.collect::<Vec<_>>().join(", ");
        if points.len() > MAX_BARS {
            let _ = write!(text, ", … ({} bars)", points.len());
        }
        text
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
        let note = if empty { " (no points yet)" } else { "" };
        format!("{title}{y} over {x}{note}")
    }

    pub(super) fn scene(&self) -> Scene {
        // Screen readers read the title.
        let mut scene = Scene::new(self.size, self.text().replace('\n', "; "));
        self.draw(&mut scene)
            .expect("drawing into memory cannot fail");
        scene
    }

    fn draw(&self, scene: &mut Scene) -> Result<(), DrawingAreaErrorKind<Infallible>> {
        let (width, height) = self.size;
        let (x, y) = self.axis_values();
        let x = Axis::new(&self.x, x.into_iter(), width as usize / 55);
        let y_spec = AxisSpec {
            limits: self.y.limits.or_else(|| self.limits_of_bars(&y)),
            ..self.y.clone()
        };
        let y = Axis::new(&y_spec, y.into_iter(), height as usize / 40);
        let widest = y.labels().map(|label| text_width(label, FONT));
        let y_width = widest.max().unwrap_or(0) + 3 * TICK + row_height(&self.y.label);
        let legend = self.legend(UNIT + y_width);
        let legend_height = legend
            .last()
            .map_or(self.title_height(), |entry| entry.corner.1 + ROW);

        let (area, series) = self.draw_axes(scene, (x, y), y_width, legend_height)?;
        scene.begin_clip(area.0, area.1);
        series.iter().for_each(|series| series.draw(scene));
        scene.end_clip();
        let middle = middle(area).0;
        let title = centred(&self.title, middle, width as i32 * UNIT);
        scene.write(&title, (middle, 4 * UNIT + ROW / 2), Anchor::Middle, INK);
        self.draw_legend(scene, &legend);
        Ok(())
    }

    /// Draws what plotters does: grid, axes, ticks and all their labels. Returns the plot area, and the
    /// series mapped into it.
    fn draw_axes(
        &self,
        scene: &mut Scene,
        (x, y): (Axis, Axis),
        y_width: i32,
        legend_height: i32,
    ) -> Result<(Area, Vec<DrawnSeries>), DrawingAreaErrorKind<Infallible>> {
        let (width, height) = (self.size.0 as i32 * UNIT, self.size.1 as i32 * UNIT);
        let overhang = x.overhang(width - y_width - UNIT - END);
        let root = scene.into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin(UNIT)
            .margin_top(legend_height + 7 * UNIT)
            .margin_right(overhang.max(END))
            .x_label_area_size(ROW + TICK + row_height(&self.x.label))
            .y_label_area_size(y_width)
            .build_cartesian_2d(x, y)?;
        let area = plot_area(&chart);
        let middle = middle(area);
        chart
            .configure_mesh()
            .bold_line_style(INK.mix(0.25).stroke_width(UNIT as u32 * 7 / 10))
            .axis_style(INK.stroke_width(UNIT as u32))
            .set_all_tick_mark_size(TICK)
            .label_style(("sans-serif", FONT).into_font().color(&INK))
            .x_desc(centred(&self.x.label, middle.0, width))
            .y_desc(centred(&self.y.label, middle.1, height))
            .draw()?;
        Ok((area, self.drawn_series(&chart)))
    }

    /// Returns the values that the two axes must cover.
    fn axis_values(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut xs, mut ys) = (Vec::new(), Vec::new());
        for series in &self.series {
            let half = match series.style {
                Style::Bars { width, .. } => width / 2.0,
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

    /// Returns limits of the y axis for a chart of bars alone, so that they stand on the x axis.
    fn limits_of_bars(&self, ys: &[f64]) -> Option<(f64, f64)> {
        let lowest = ys.iter().copied().fold(0.0, f64::min);
        let highest = ys.iter().copied().fold(0.0, f64::max);
        let only_bars = self.y.scale == Scale::Linear && self.series.iter().all(Series::is_bars);
        let limits = (lowest * 1.05, highest * 1.05);
        (only_bars && limits.0 < limits.1).then_some(limits)
    }

    fn title_height(&self) -> i32 {
        row_height(&self.title)
    }
}

/// Returns the height of a row of text, or 0 if there is no text.
fn row_height(text: &str) -> i32 {
    if text.is_empty() { 0 } else { ROW }
}

fn middle(((left, top), (right, bottom)): Area) -> Point {
    ((left + right) / 2, (top + bottom) / 2)
}

/// Returns the area in which the series are drawn.
fn plot_area(chart: &Context) -> Area {
    let (x, y) = chart.plotting_area().get_pixel_range();
    ((x.start, y.start), (x.end, y.end))
}

#[cfg(test)]
mod tests;
