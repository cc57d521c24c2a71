//! A chart with two axes: converts its data to an SVG image and to text.
//!
//! [`Chart::draw`] divides the work: plotters lays out the plot area, maps data to coordinates and
//! draws grid, axes, ticks and their labels; this module chooses the ticks and draws series and legend.

mod legend;
mod right_axis;
mod series;
mod spec;

pub(super) use spec::{Chart, SIZE, Series, Style};

use super::axis::{Axis, AxisSpec, Scale};
use super::number::short;
use super::render::UNIT;
use super::render::palette::INK;
use super::render::scene::Scene;
use super::render::text::{FONT, ROW, centred, row_height, text_width};
use crate::notebook::MimeBundle;
use plotters::chart::ChartBuilder;
use plotters::drawing::{DrawingAreaErrorKind, IntoDrawingArea};
use plotters::style::{Color, IntoFont};
use plotters_backend::text_anchor::HPos;
use right_axis::RightAxis;
use series::{DrawnSeries, plot_area};
use spec::{Area, TICK, middle};
use std::convert::Infallible;
use std::fmt::Write;

/// The margin to the right of the x axis, in plotters' units.
const END: i32 = 12 * UNIT;

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
        let right = self.right_axis();
        let x = Axis::new(&self.x, x.into_iter(), width as usize / 55);
        let y_spec = AxisSpec {
            limits: self.y.limits.or_else(|| self.limits_of_bars(&y)),
            ..self.y.clone()
        };
        let y = Axis::new(&y_spec, y.into_iter(), height as usize / 40);
        let widest = y.labels().map(|label| text_width(label, FONT));
        let y_width = widest.max().unwrap_or(0) + 3 * TICK + row_height(&self.left_label());
        let legend = self.legend(UNIT + y_width);
        let legend_height = legend
            .last()
            .map_or(row_height(&self.title), |entry| entry.corner.1 + ROW);

        let right_width = right.as_ref().map_or(0, RightAxis::width);
        let margins = [y_width, legend_height, right_width];
        let (area, series) = self.draw_axes(scene, (x, y), right.as_ref(), margins)?;
        if let Some(right) = &right {
            right.draw(scene, area);
        }
        scene.begin_clip(area.0, area.1);
        series.iter().for_each(|series| series.draw(scene));
        scene.end_clip();
        let middle = middle(area).0;
        let title = centred(&self.title, middle, width as i32 * UNIT);
        scene.write(&title, (middle, 4 * UNIT + ROW / 2), HPos::Center, INK);
        self.draw_legend(scene, &legend);
        Ok(())
    }

    /// Draws the parts that plotters draws: grid, axes, ticks and all their labels. Returns the plot area
    /// and the series, mapped to the coordinates of the scene.
    fn draw_axes(
        &self,
        scene: &mut Scene,
        (x, y): (Axis, Axis),
        right: Option<&RightAxis>,
        [y_width, legend_height, right_width]: [i32; 3],
    ) -> Result<(Area, Vec<DrawnSeries>), DrawingAreaErrorKind<Infallible>> {
        let (width, height) = (self.size.0 as i32 * UNIT, self.size.1 as i32 * UNIT);
        let overhang = x.overhang(width - y_width - right_width - UNIT - END);
        let root = scene.into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin(UNIT)
            .margin_top(legend_height + 7 * UNIT)
            .margin_right((overhang.max(END)).max(right_width))
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
            .y_desc(centred(&self.left_label(), middle.1, height))
            .draw()?;
        Ok((area, self.drawn_series(&chart, right)))
    }

    /// Returns the values that the axes at the bottom and at the left must cover.
    fn axis_values(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut xs, mut ys) = (Vec::new(), Vec::new());
        for series in &self.series {
            let half = match series.style {
                Style::Bars { width, .. } => width / 2.0,
                _ => 0.0,
            };
            for &(x, _) in &series.points {
                xs.extend([x - half, x + half]);
            }
            if !series.on_right {
                ys.extend(series.points.iter().map(|&(_, y)| y));
            }
            if series.is_bars() {
                ys.push(0.0);
            }
        }
        (xs, ys)
    }

    /// Returns limits of the y axis with which bars stand on the x axis. Returns `None` if the chart also has
    /// other series, or if its y axis is logarithmic.
    fn limits_of_bars(&self, ys: &[f64]) -> Option<(f64, f64)> {
        let lowest = ys.iter().copied().fold(0.0, f64::min);
        let highest = ys.iter().copied().fold(0.0, f64::max);
        let only_bars = self.y.scale == Scale::Linear && self.series.iter().all(Series::is_bars);
        let limits = (lowest * 1.05, highest * 1.05);
        (only_bars && limits.0 < limits.1).then_some(limits)
    }
}

#[cfg(test)]
mod tests;
