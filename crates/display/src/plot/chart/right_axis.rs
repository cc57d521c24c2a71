//! The vertical axis at the right, for series of another quantity.

use super::spec::{Area, Chart, TICK, middle};
use crate::plot::axis::Axis;
use crate::plot::render::UNIT;
use crate::plot::render::palette::INK;
use crate::plot::render::scene::Scene;
use crate::plot::render::text::{FONT, centred, row_height, text_width};
use plotters::coord::ranged1d::Ranged;
use plotters_backend::text_anchor::HPos;

/// An axis at the right of the plot area, with its label.
pub(super) struct RightAxis {
    axis: Axis,
    label: String,
    /// The height of the figure, in plotters' units.
    height: i32,
}

impl Chart {
    /// Returns the axis for the series on the right, if there are any.
    pub(super) fn right_axis(&self) -> Option<RightAxis> {
        let series = self.series.iter().filter(|series| series.on_right);
        let values: Vec<f64> = series
            .flat_map(|series| series.points.iter().map(|&(_, y)| y))
            .collect();
        if values.is_empty() {
            return None;
        }
        let max_ticks = self.size.1 as usize / 40;
        Some(RightAxis {
            axis: Axis::new(&self.right, values.into_iter(), max_ticks),
            label: self.quantities(true),
            height: self.size.1 as i32 * UNIT,
        })
    }

    /// Returns the label of the axis at the left: the one that the user has set or, if there is a second
    /// axis, the quantities of the series at the left.
    pub(super) fn left_label(&self) -> String {
        let is_alone = !self.series.iter().any(|series| series.on_right);
        match self.y.label.as_str() {
            "" if !is_alone => self.quantities(false),
            label => label.to_owned(),
        }
    }

    /// Lists the quantities that the left or the right axis shows.
    fn quantities(&self, on_right: bool) -> String {
        let series = self.series.iter().filter(|s| s.on_right == on_right);
        let mut names: Vec<&str> = Vec::new();
        for series in series {
            let name = series.quantity().unwrap_or(&series.label);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }
}

impl RightAxis {
    /// Returns the room that the axis needs at the right of the plot area.
    pub(super) fn width(&self) -> i32 {
        let widest = self.axis.labels().map(|label| text_width(label, FONT));
        widest.max().unwrap_or(0) + 3 * TICK + row_height(&self.label)
    }

    /// Returns the vertical coordinate of a value.
    pub(super) fn map(&self, value: f64, ((_, top), (_, bottom)): Area) -> i32 {
        self.axis.map(&value, (bottom, top))
    }

    /// Draws the axis, its ticks and its label.
    pub(super) fn draw(&self, scene: &mut Scene, area: Area) {
        let ((_, top), (right, bottom)) = area;
        scene.draw_rule((right, top), (right, bottom));
        for (value, label) in self.axis.ticks() {
            let y = self.map(*value, area);
            scene.draw_rule((right, y), (right + TICK, y));
            scene.write(label, (right + 2 * TICK, y), HPos::Left, INK);
        }
        let (_, centre) = middle(area);
        let label = centred(&self.label, centre, self.height);
        let x = right + self.width() - row_height(&self.label) / 2;
        scene.write_upwards(&label, (x, centre), INK);
    }
}
